"""Images of robots, drawn by MuJoCo's offscreen renderer in a process of its own, which owns the OpenGL context."""
