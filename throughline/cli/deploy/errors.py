"""What ends a deployment with one message."""


class DeployError(Exception):
    """The deployment can't go on. The text says what happened, what it means, and the command that mends it."""
