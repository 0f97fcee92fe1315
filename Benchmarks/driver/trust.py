"""Lets every client trust the server's certificate by its own default, as it would trust any public server.

In a mount namespace of its own the driver lays a copy of /etc/ssl/certs, with the benchmark's authority added, over the
real one. So a bundle is as long, and a hashed directory as full, as the machine's; and nothing outside is changed.

The network is its own too, with a loopback and nothing else, so that what the kernel counts there is the benchmark's.
"""

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path

SYSTEM = Path("/etc/ssl/certs")
BUNDLE = "ca-certificates.crt"
AUTHORITY = "benchmark-authority.pem"
MARK = "BENCH_OWN_MOUNTS"


def enter_namespace() -> None:
    """Starts this program again with mounts of its own, where the machine allows it."""
    if MARK in os.environ:
        start_loopback()
        return
    if not shutil.which("unshare"):
        return
    for options in (["--mount", "--net"], ["--user", "--map-root-user", "--mount", "--net"]):
        command = ["unshare", *options]
        if subprocess.run([*command, "true"], capture_output=True, timeout=10).returncode == 0:
            os.environ[MARK] = "1"
            os.execvp("unshare", [*command, sys.executable, *sys.argv])


def is_isolated() -> bool:
    return MARK in os.environ


def start_loopback() -> None:
    get_flags, set_flags, up = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = fcntl.ioctl(any_socket, get_flags, struct.pack("16s24x", b"lo"))
        flags = struct.unpack_from("16sh", request)[1]
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh22x", b"lo", flags | up))


def install(directory: Path) -> bool:
    """Adds the authority the server wrote into `directory` to the machine's. False when only the environment can."""
    if MARK not in os.environ or not SYSTEM.is_dir():
        return False
    for entry in SYSTEM.iterdir():
        target = directory / entry.name
        if entry.name != BUNDLE and not target.exists() and not entry.is_dir():
            shutil.copy2(entry, target, follow_symlinks=False)
    bundle = SYSTEM / BUNDLE
    known = bundle.read_bytes() if bundle.exists() else b""
    (directory / BUNDLE).write_bytes(known + (directory / AUTHORITY).read_bytes())
    mounted = subprocess.run(["mount", "--bind", str(directory), str(SYSTEM)], capture_output=True, timeout=10)
    return mounted.returncode == 0


def environment(directory: Path, installed: bool) -> dict[str, str]:
    # Node has authorities of its own and never looks at the machine's.
    variables = {"NODE_EXTRA_CA_CERTS": str(directory / AUTHORITY)}
    return variables if installed else variables | {"SSL_CERT_DIR": str(directory)}
