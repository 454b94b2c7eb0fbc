"""Source beside its libraries: installed packages, vendored folders, `pip install --target`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.source.python.interp import containers
from mcproof.source.python.pipeline import discover
from source.python.sources import names, tool, write

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.core.catalog.model import SourceMap

SERVER = """
    import heavy
    from fastmcp import FastMCP
    from harbour.names import NAME
    from harbour_common import SUFFIX

    mcp = FastMCP("harbour")

    @mcp.tool(name=NAME + SUFFIX)
    def berth(kind: heavy.Kind = heavy.DEFAULT) -> str: ...

    heavy.install(mcp)
    """
HARBOUR = {
    "harbour/__init__.py": "",
    "harbour/server.py": SERVER,
    "harbour/names.py": 'NAME = "find_berth"\n',
    "harbour_common/__init__.py": 'SUFFIX = "_now"\n',
}
HEAVY = {
    "heavy/__init__.py": """
        from fastmcp import FastMCP

        class Kind: ...

        DEFAULT = "small"

        def install(mcp):
            @mcp.tool
            def of_a_library(): ...

        own = FastMCP("heavy")

        @own.tool
        def heavy_tool(): ...
        """
}
LIBRARY = """
    NAME = "other"

    def install(mcp):
        @mcp.tool
        def of_a_library(): ...
    """
SITE = "venv/lib/python3.12/site-packages"
RECORDED = {
    "harbour_server-1.0.dist-info/RECORD": "".join(f"{name},sha256=x,1\n" for name in HARBOUR),
    "harbour_server-1.0.dist-info/METADATA": "Name: harbour-server\nRequires-Dist: heavy>=1\n",
    "heavy-1.0.dist-info/RECORD": "".join(f"{name},,\n" for name in HEAVY),
}


def in_site(files: dict[str, str], site: str = SITE) -> dict[str, str]:
    return {f"{site}/{name}": text for name, text in files.items()}


def catalog(result: SourceMap) -> tuple[dict[str, object], frozenset[str]]:
    """The part of a result that does not depend on the location of the source."""
    return result.document, result.tools[0].unknown


def test_an_installed_package_is_found_as_in_a_clean_copy(tmp_path: Path) -> None:
    write(tmp_path / "clean", HARBOUR)
    write(tmp_path, in_site({**HARBOUR, **HEAVY, **RECORDED}))
    clean = discover(str(tmp_path / "clean" / "harbour"))
    installed = discover(str(tmp_path / SITE / "harbour"))
    assert names(clean) == ["find_berth_now"]
    assert catalog(installed) == catalog(clean)
    assert not installed.omissions


@pytest.mark.parametrize("target", ["harbour/server.py", "harbour"])
def test_files_of_the_same_distribution_are_followed(target: str, tmp_path: Path) -> None:
    write(tmp_path, in_site({**HARBOUR, **HEAVY, **RECORDED}))
    assert names(discover(str(tmp_path / SITE / target), whole=True)) == ["find_berth_now"]


def test_without_a_record_only_the_top_package_is_followed(tmp_path: Path) -> None:
    server = "from fastmcp import FastMCP\nfrom harbour.names import NAME\nfrom heavy import NAME as OTHER\n"
    server += 'mcp = FastMCP("x")\n@mcp.tool(name=NAME)\ndef f(): ...\n@mcp.tool(name=OTHER)\ndef g(): ...\n'
    files = {**HARBOUR, "harbour/server.py": server, "heavy/__init__.py": 'NAME = "of_a_library"\n'}
    write(tmp_path, in_site(files))
    result = discover(str(tmp_path / SITE / "harbour"))
    assert names(result) == ["find_berth"]
    assert [each.what for each in result.omissions] == [
        "the name of a tool is not known statically, so it is not checked"
    ]


def test_namespace_packages_of_other_distributions_are_libraries(tmp_path: Path) -> None:
    files = {
        "port/pilot/server.py": """
            from fastmcp import FastMCP
            from port.pilot.names import NAME
            from port.tug.names import NAME as TUG

            mcp = FastMCP("x")

            @mcp.tool(name=NAME)
            def f(): ...

            @mcp.tool(name=TUG)
            def g(): ...
            """,
        "port/pilot/__init__.py": "",
        "port/tug/__init__.py": "",
        "port/pilot/names.py": 'NAME = "pilot"\n',
        "port/tug/names.py": 'NAME = "tug"\n',
        "port_pilot-1.dist-info/RECORD": "port/pilot/__init__.py,,\nport/pilot/server.py,,\nport/pilot/names.py,,\n",
        "port_tug-1.dist-info/RECORD": "port/tug/__init__.py,,\nport/tug/names.py,,\n",
    }
    write(tmp_path, in_site(files))
    assert names(discover(str(tmp_path / SITE / "port" / "pilot"))) == ["pilot"]


def test_a_target_folder_is_not_confused_with_its_libraries(tmp_path: Path) -> None:
    """`pip install --target .` puts libraries beside the modules of an application."""
    write(tmp_path, {**HEAVY, "app.py": SERVER.replace("harbour.names", "names"), "names.py": 'NAME = "a"\n'})
    write(tmp_path, {"harbour_common.py": 'SUFFIX = "_b"\n', "heavy-1.0.dist-info/RECORD": "heavy/__init__.py,,\n"})
    for target in (tmp_path, tmp_path / "app.py"):
        assert names(discover(str(target))) == ["a_b"]


def test_an_installation_without_other_source_is_what_nothing_else_needs(tmp_path: Path) -> None:
    write(tmp_path, {**HARBOUR, **HEAVY, **RECORDED})
    assert names(discover(str(tmp_path))) == ["find_berth_now"]
    write(tmp_path, in_site({**HARBOUR, **HEAVY, **RECORDED}))
    assert names(discover(str(tmp_path / SITE))) == ["find_berth_now"]


@pytest.mark.parametrize("folder", ["_vendor", "vendor", "third_party", "vendored"])
def test_vendored_folders_are_neither_read_nor_followed(folder: str, tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "app/__init__.py": "",
            "app/server.py": f"""
                from pydantic import Field
                from app.{folder} import heavy
                from app.{folder}.fastmcp import FastMCP
                from .{folder}.heavy import NAME

                mcp = FastMCP("x")

                @mcp.tool
                def own(x: int = Field(description="A number.")) -> str: ...

                @mcp.tool(name=NAME)
                def other(): ...

                heavy.install(mcp)
                """,
            f"app/{folder}/__init__.py": "",
            f"app/{folder}/heavy.py": LIBRARY,
            f"app/{folder}/fastmcp.py": "class FastMCP: ...\n",
        },
    )
    result = discover(str(tmp_path))
    assert names(result) == ["own"]
    assert tool(result)["inputSchema"]["additionalProperties"] is False  # as fastmcp itself does


def test_a_project_in_a_folder_for_libraries_is_whole(tmp_path: Path) -> None:
    """A checkout below `third_party` keeps its own modules."""
    write(tmp_path, {f"third_party/harbour/src/{name}": text for name, text in HARBOUR.items()})
    write(tmp_path, {f"third_party/{name}": text for name, text in HEAVY.items()})
    for target in ("third_party/harbour", "third_party/harbour/src/harbour"):
        assert names(discover(str(tmp_path / target))) == ["find_berth_now"]


def test_a_large_module_without_registrations_does_not_use_up_the_steps(tmp_path: Path) -> None:
    lines = "\n".join(f"x{number} = [{number}, {number + 1}]" for number in range(containers.STEPS_OF_ONE_ROOT // 2))
    write(tmp_path, {"big.py": f'FIRST = "first"\n{lines}\n'})
    write(
        tmp_path,
        {
            "server.py": """
                from fastmcp import FastMCP
                from big import FIRST

                mcp = FastMCP("x")

                @mcp.tool(name=FIRST)
                def f(): ...

                @mcp.tool
                def second(): ...
                """
        },
    )
    result = discover(str(tmp_path))
    assert names(result) == ["first", "second"]
    assert not result.omissions


def test_a_record_is_not_trusted_to_name_files_outside(tmp_path: Path) -> None:
    record = "harbour/server.py,,\n../../outside.py,,\n/etc/passwd.py,,\n\x00.py,,\n"
    write(tmp_path, in_site({**HARBOUR, "harbour_server-1.0.dist-info/RECORD": record}))
    assert names(discover(str(tmp_path / SITE / "harbour"))) == []  # `harbour_common` is not recorded, so unknown
    write(tmp_path, in_site({"harbour/server.py": SERVER.replace("+ SUFFIX", "")}))
    assert names(discover(str(tmp_path / SITE / "harbour"))) == ["find_berth"]
