"""The `chronicle` command: a list of subcommands, each imported only when it is run, so that start-up stays quick.

Every failure ends here as a message and an exit code of the contract: 1 failed, 2 usage, 3 refused by the checker,
4 not found. Nobody is shown a traceback unless CHRONICLE_TRACEBACK is set.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from chronicle import __version__
from chronicle.cli import output
from chronicle.errors import ChronicleError, DefinitionError, nearest

COMMANDS = {
    "init": "Start a project: a commented definition and sample data.",
    "check": "The verdict on every view: class and bound, or each refusal.",
    "explain": "How a view is kept: algebra, class and bound, periods, state, plan.",
    "append": "Append tuples to a chronicle.",
    "upsert": "Change rows of a relation.",
    "delete": "Delete a row of a relation.",
    "run": "The streaming job that keeps every view current.",
    "get": "Look up a row of a view.",
    "scan": "All rows of a view.",
    "ledger": "What became of every append.",
    "status": "Offsets, lag, clock, periods and sizes.",
    "serve": "Lookups over HTTP.",
    "recompute": "Compare views with a batch answer over the retained chronicle.",
    "calendar": "The periods of a calendar.",
    "topics": "The Kafka topics of the definition.",
    "dev": "A real single-node Kafka broker, for trying out.",
    "follow": "Tail a Delta store into a local index.",
    "compact": "Fold a Delta store's partials into a snapshot.",
    "export": "Every view as a Delta table or a Parquet file.",
    "doctor": "Is this machine ready? With the fix for what is not.",
    "schema": "The JSON Schema of the definition file, for editors.",
    "completion": "The script that teaches a shell to complete this command.",
}

INTERRUPTED = 130


class Commands(click.Group):
    """Subcommands by name; the module `chronicle.cli.<name>` holds each as `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"chronicle.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and name not in COMMANDS:
            near = nearest(name, COMMANDS)
            raise click.UsageError(f"there is no command '{name}'" + (f"; did you mean '{near}'?" if near else ""), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="chronicle", message="%(prog)s %(version)s")
def cli() -> None:
    """Summaries of append-only event streams, kept current at a cost per append that never grows.

    \b
    chronicle init demo --example telecom && cd demo
    chronicle check
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a command and exits with its code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Runs a command and returns its exit code."""
    try:
        code = cli.main(list(arguments), prog_name="chronicle", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough; the interpreter must not try to flush the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.ClickException as error:
        output.usage(error)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        output.message("stopped")
        return INTERRUPTED
    except ChronicleError as error:
        _report(error)
        return error.exit_code
    except OSError as error:
        output.failure(_about(error))
        return 1
    except Exception as error:
        _report_bug(error)
        return 1
    return code if isinstance(code, int) else 0


def _report(error: ChronicleError) -> None:
    if isinstance(error, DefinitionError):
        output.faults(error.faults)
    else:
        output.failure(error.message, error.hint)


def _about(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename is not None else reason


def _report_bug(error: Exception) -> None:
    if os.environ.get("CHRONICLE_TRACEBACK"):
        raise error
    output.failure(
        f"something that should not happen did: {type(error).__name__}: {error}",
        "this is a fault of chronicle's; CHRONICLE_TRACEBACK=1 shows where it happened",
    )


if __name__ == "__main__":
    main()
