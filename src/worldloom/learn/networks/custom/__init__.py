"""Custom modules as policies: their protocols, and the actor-critic around them."""
