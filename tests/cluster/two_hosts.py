"""A Ray of two hosts on this machine: two network namespaces, each with an address and a node, and a switch."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager

import pytest

from tests.cluster.two_nodes import TwoNodes, below, kill_tree, settings

_ADDRESSES = ("10.77.0.1", "10.77.0.2")
_TRIES = 5
"""Ray gives a node half a minute to start, too little on a busy machine."""
_NODE = ["--num-cpus=3", "--object-store-memory=200000000", "--disable-usage-stats", "--block"]
_FIRST = ["--head", f"--node-ip-address={_ADDRESSES[0]}", "--port=6379", "--include-dashboard=false"]
_SECOND = [f"--address={_ADDRESSES[0]}:6379", f"--node-ip-address={_ADDRESSES[1]}"]


@contextmanager
def two_hosts(environment: Mapping[str, str]) -> Generator[TwoNodes]:
    """The hosts while the block runs; their workers have `environment`.

    Only the `link` of the second host can be lost, as soon as a worker runs there. Its port of the switch goes down:
    the processes of the host continue, and no packet reports that they are unreachable. The test is skipped where no
    network namespace can be created, which requires root and iproute2.
    """
    folder = tempfile.mkdtemp(prefix="ray-")  # as in `two_nodes`
    # The machine's name leads to no address that the other host could reach.
    values = settings({"GLOO_SOCKET_IFNAME": "eth0", "PYTHONUNBUFFERED": "1", **environment}, folder)
    with ExitStack() as stack:
        switch, *hosts = _joined(stack)
        first = _node(stack, hosts[0], values, [*_FIRST, f"--temp-dir={folder}/0"])
        second = _node(stack, hosts[1], values, [*_SECOND, f"--temp-dir={folder}/1"])

        def lose(victim: str) -> bool:
            assert victim == "link"
            if not below(second, "Worker"):
                return False
            _ip(f"-n {switch} link set port1 down")
            return True

        joining = values | {"RAY_ADDRESS": f"{_ADDRESSES[0]}:6379"}
        yield TwoNodes([first, second], joining, lose, ["ip", "netns", "exec", hosts[0]])
    shutil.rmtree(folder, ignore_errors=True)


def _joined(stack: ExitStack) -> list[str]:
    """The names of the switch and of the hosts that hang at its ports, until `stack` ends."""
    names = [f"layoutray-{os.getpid()}-{part}" for part in ("switch", "host0", "host1")]
    for name in names:
        try:
            _ip(f"netns add {name}")
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"no network namespace can be made here: {getattr(error, 'stderr', None) or error}")
        stack.callback(_ip, f"netns delete {name}")
    switch, *hosts = names
    _ip(f"-n {switch} link add name bridge0 type bridge")
    _ip(f"-n {switch} link set bridge0 up")
    for number, (host, address) in enumerate(zip(hosts, _ADDRESSES, strict=True)):
        _ip(f"link add name port{number} netns {switch} type veth peer name eth0 netns {host}")
        _ip(f"-n {switch} link set port{number} master bridge0 up")
        _ip(f"-n {host} address add {address}/24 dev eth0")
        _ip(f"-n {host} link set lo up")
        _ip(f"-n {host} link set eth0 up")
    return names


def _node(stack: ExitStack, host: str, values: Mapping[str, str], options: list[str]) -> subprocess.Popen[str]:
    """A node of Ray on `host`, until `stack` ends."""
    command = ["ip", "netns", "exec", host, sys.executable, "-m", "ray.scripts.scripts", "start", *options, *_NODE]
    said: list[str] = []
    for _ in range(_TRIES):
        process = subprocess.Popen(command, env=values, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        stack.enter_context(process)
        stack.callback(kill_tree, process)
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if "Ray runtime started" in line:
                return process
    raise AssertionError(f"the node on {host} did not start:\n{''.join(said)}")


def _ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True, capture_output=True, text=True)
