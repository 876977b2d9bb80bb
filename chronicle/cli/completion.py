"""`chronicle completion SHELL`: the script that completes this command in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from chronicle.cli import output
from chronicle.errors import ChronicleError

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """The script that teaches a shell to complete this command.

    \b
    bash:  eval "$(chronicle completion bash)"         in ~/.bashrc
    zsh:   eval "$(chronicle completion zsh)"          in ~/.zshrc
    fish:  chronicle completion fish > ~/.config/fish/completions/chronicle.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    try:
        script = kind(ctx.find_root().command, {}, "chronicle", "_CHRONICLE_COMPLETE").source()
    except RuntimeError as error:  # click asks the installed bash for its version
        raise ChronicleError(f"cannot complete for this {shell}: {error}", "bash must be 4.4 or newer") from None
    output.result(script)
