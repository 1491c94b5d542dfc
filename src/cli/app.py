"""The subcommands."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer
from rich.console import Console

from honcho_memory.cli import outbox
from honcho_memory.cli.conversation import THREAD, USER
from honcho_memory.cli.demo import run_demo
from honcho_memory.cli.doctor import doctor
from honcho_memory.cli.failing import fail
from honcho_memory.cli.transfer import export_memory, import_memory
from honcho_memory.domain.errors import ConfigurationError, HonchoMemoryError
from honcho_memory.settings import Settings

app = typer.Typer(
    name="honcho-memory",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(outbox.app, name="outbox")
app.command()(doctor)
app.command("export")(export_memory)
app.command("import")(import_memory)

BaseUrl = Annotated[
    str | None, typer.Option(metavar="URL", help="A Honcho server; without it, one in memory.")
]
ApiKeyEnv = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The environment variable that holds the API key."),
]


def _say_version(wanted: bool) -> None:  # noqa: FBT001 - so does typer call it
    if wanted:
        typer.echo(f"honcho-memory {version('honcho-memory')}")
        raise typer.Exit


@app.callback()
def options(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Long-term memory of an agent's users through a Honcho server."""


@app.command()
def demo(
    base_url: BaseUrl = None,
    api_key_env: ApiKeyEnv = None,
    user: Annotated[str, typer.Option(help="Whose memory it becomes.")] = USER,
    thread: Annotated[str, typer.Option(help="Which conversation it becomes.")] = THREAD,
    timeout_seconds: Annotated[
        float | None, typer.Option(help="How long a request and the delivery may take.")
    ] = None,
) -> None:
    """Hand over a conversation and show what is stored, left out, recalled and found."""
    given = {
        "base_url": base_url,
        "api_key_env": api_key_env,
        "timeout_seconds": timeout_seconds,
        "delivery": "background",
    }
    console = Console()
    try:
        settings = Settings.from_mapping(given)
        run_demo(console, settings, user_id=user, thread_id=thread, is_live=base_url is not None)
    except HonchoMemoryError as error:
        fail(error)


@app.command()
def identity(
    user: Annotated[str, typer.Argument(help="The host's id of a user.")],
    thread: Annotated[str | None, typer.Argument(help="The host's id of a thread.")] = None,
    workspace_prefix: Annotated[
        str | None, typer.Option(help="As in the settings.", metavar="TEXT")
    ] = None,
    id_digest_chars: Annotated[
        int | None, typer.Option(help="As in the settings, 8 or 32.")
    ] = None,
) -> None:
    """Show which workspace, peer and session the host's ids stand for."""
    try:
        settings = Settings.from_mapping(
            {"workspace_prefix": workspace_prefix, "id_digest_chars": id_digest_chars}
        )
    except ConfigurationError as error:
        fail(error)
    identities = settings.identities()
    known = identities.user(user)
    if known is None:
        fail(ConfigurationError("an empty user id stands for nobody: nothing is remembered"))
    typer.echo(f"workspace {known.workspace}")
    typer.echo(f"peer      {known.peer}")
    if thread is not None:
        typer.echo(f"session   {identities.session(thread)}")
