"""Builds the server and the clients."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / ".build" / "programs"
LONGEST_BUILD = 1800


class BuildFailure(Exception):
    pass


def run(command: list[str], **options) -> str:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LONGEST_BUILD, **options
    )
    if done.returncode != 0:
        raise BuildFailure(f"{' '.join(command[:4])} …\n{done.stdout[-2000:]}")
    return done.stdout


def build_c(name: str, folders: list[str], libraries: list[str]) -> list[str]:
    sources = [path for folder in folders for path in sorted((ROOT / folder).glob("*.c"))]
    watched = sources + [path for folder in folders for path in (ROOT / folder).glob("*.h")]
    program = OUTPUT / name
    OUTPUT.mkdir(parents=True, exist_ok=True)
    if not program.exists() or program.stat().st_mtime < max(path.stat().st_mtime for path in watched):
        includes = [f"-I{ROOT / folder}" for folder in folders]
        flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]
        run([os.environ.get("CC", "cc"), *flags, *includes, *map(str, sources), "-o", str(program), *libraries])
    return [str(program)]


def build_swift(product: str, rebuild: bool, configuration: str) -> list[str]:
    # A build directory for each: the toolchain's client must not see a module of ours, whatever its name.
    scratch = ROOT / ".build" / product
    program = scratch / configuration / product
    if rebuild:
        run(
            ["swift", "build", "-c", configuration, "--product", product, "--scratch-path", str(scratch)],
            cwd=ROOT,
        )
    if not program.exists():
        raise BuildFailure(f"{program} is missing")
    linked = run(["ldd", str(program)])
    if ("libFoundationNetworking" in linked) != (product == "url-session-toolchain"):
        raise BuildFailure(f"{program} is linked with the wrong URLSession")
    return [str(program)]


def build_go() -> list[str]:
    if not shutil.which("go"):
        raise BuildFailure("go is not installed")
    program = OUTPUT / "go-client"
    environment = os.environ | {"GOPROXY": "off", "GOCACHE": str(ROOT / ".build" / "go-cache")}
    run(["go", "build", "-o", str(program), "."], cwd=ROOT / "clients" / "go", env=environment)
    return [str(program)]


def build_go_with_package(tag: str, name: str) -> list[str]:
    """The same program with a package of the distribution, which is made for builds without modules."""
    if not shutil.which("go"):
        raise BuildFailure("go is not installed")
    program = OUTPUT / name
    environment = os.environ | {
        "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(ROOT / ".build" / "go-cache")
    }
    run(["go", "build", "-tags", tag, "-o", str(program), "."], cwd=ROOT / "clients" / "go", env=environment)
    return [str(program)]


def build_witness(tool: str) -> list[str]:
    if not shutil.which(tool):
        raise BuildFailure(f"{tool} is not installed")
    return [*build_c("witness", ["clients/witness", "clients/support"], []), "--program", tool]


def find_node(*options: str) -> list[str]:
    node = shutil.which("node")
    if not node:
        raise BuildFailure("node is not installed")
    return [node, *options, str(ROOT / "clients" / "node" / "client.mjs")]


def build_server() -> list[str]:
    return build_c("server", ["server"], ["-lssl", "-lcrypto"])


def build_clients(
    wanted: set[str], rebuild: bool, configuration: str = "release"
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The commands of the programs that are there, and why the others are not. The configuration is that of Swift."""
    steps = {
        "floor": lambda: build_c("floor", ["clients/floor", "clients/support"], ["-lssl", "-lcrypto"]),
        "curl-multi": lambda: build_c("curl-multi", ["clients/curl-multi", "clients/support"], ["-lcurl"]),
        "url-session-ours": lambda: build_swift("url-session-ours", rebuild, configuration),
        "url-session-toolchain": lambda: build_swift("url-session-toolchain", rebuild, configuration),
        "h2load": lambda: build_witness("h2load"),
        "gtlsclient": lambda: build_witness("gtlsclient"),
        "go": build_go,
        "quic-go": lambda: build_go_with_package("quic", "quic-go-client"),
        "node": find_node,
        "libwebsockets": lambda: build_c(
            "libwebsockets", ["clients/libwebsockets", "clients/support"], ["-lwebsockets"]),
        "go-websocket": lambda: build_go_with_package("websocket", "go-websocket-client"),
        # Node 20 has its own behind an option.
        "node-websocket": lambda: find_node("--experimental-websocket", "--no-warnings"),
    }
    programs, missing = {}, {}
    for name in sorted(wanted):
        try:
            programs[name] = steps[name]()
        except (BuildFailure, OSError, subprocess.TimeoutExpired) as failure:
            missing[name] = str(failure)
    return programs, missing
