// Joysticks, paddles and switches: from actions to pins.
// Actions are numbered NOOP FIRE UP RIGHT LEFT DOWN UPRIGHT UPLEFT DOWNRIGHT DOWNLEFT; from 10 on the eight directions
// repeat with FIRE.

enum : u32 { PUSH_LEFT = 4, PUSH_RIGHT = 8, PUSH_FIRE = 16 };
enum : s32 { MAX_PADDLE_STEP = 1 << 20 };  // per frame: from one end of a paddle to the other

// Directions of an action of 0 to 17; actions of player B, 18 to 35, are the same. Others give 0.
CUDA_CALLABLE u32 pushed(u32 action) {
    if (action >= 36) return 0;
    return ACTIONS[action % 18];
}

// Sets the pins of one frame. `reset` and `select` are 1 while the switch is held; `step` is the paddle step.
// `more` are the actions of players C and D, or null.
CUDA_CALLABLE void press(u32 action_a, u32 action_b, u32 reset, u32 select, s32 step = PADDLE_STEP, const u8* more = 0) {
    step = step > MAX_PADDLE_STEP ? MAX_PADDLE_STEP : step < -MAX_PADDLE_STEP ? -MAX_PADDLE_STEP : step;
    u32 push[4] = {pushed(action_a), pushed(action_b), more ? pushed(more[0]) : 0, more ? pushed(more[1]) : 0};
    for (u32 player = 0; player < (more ? 4 : 2); player++) {
        const s32 by = (push[player] & PUSH_LEFT ? step : 0) - (push[player] & PUSH_RIGHT ? step : 0), to = paddle[player] + by;
        if (push[player] & (PUSH_LEFT | PUSH_RIGHT)) paddle[player] = to > paddle_high ? paddle_high : to < paddle_low ? paddle_low : to;
    }
    u32 first = swap_ports & 1;
    u32 pins[2];
    pins[0] = port_pins(left, push, first);
    pins[1] = port_pins(right, push, first ^ 1);
    sticks = (u8)(pins[0] << 4 | pins[1]);
    fire[0] = (u8)(left == PORT_JOYSTICK && push[first] & PUSH_FIRE ? 1 : 0);
    fire[1] = (u8)(right == PORT_JOYSTICK && push[first ^ 1] & PUSH_FIRE ? 1 : 0);
    switches = (u8)((switches_on | 0x37) & ~(reset & 1) & ~((select & 1) << 1));
}

// The four pins of a port, 0 = closed: right, left, down, up of a joystick, or the buttons of two paddles. Players A
// and B have the paddles of the first port, C and D those of the other.
CUDA_CALLABLE u32 port_pins(u32 plugged, const u32* push, u32 player) {
    if (plugged == PORT_JOYSTICK) return ~push[player] & 15u;
    if (plugged == PORT_PADDLES) {
        u32 one = 2 * player + (swap_paddles & 1);
        return 15u & ~(push[one] & PUSH_FIRE ? 8u : 0u) & ~(push[one ^ 1] & PUSH_FIRE ? 4u : 0u);
    }
    return 15;
}

CUDA_CALLABLE void start_controls() {
    paddle[0] = paddle[1] = paddle_low + (paddle_high - paddle_low) / 2;
    paddle[2] = paddle[3] = players > 2 ? paddle[0] : 0;  // otherwise the right port has no paddles
    press(0, 0, 0, 0);
}

// The resistance at INPT0 to INPT3; -1 without a paddle.
CUDA_CALLABLE s32 paddle_of(u32 input) const {
    if ((input < 2 ? left : right) != PORT_PADDLES) return -1;
    return paddle[input ^ (swap_paddles & 1)];
}
