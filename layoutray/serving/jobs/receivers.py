"""Which receivers a webhook may call, and the call itself.

A URL comes from a client, so it must not reach what only the endpoint can reach. The operator names the hosts. Every
address to which a connection is opened is checked at that moment, after the name is resolved: a name that resolves to
another address at the second time gains nothing. Redirects are not followed, and the body of an answer is not read.

Messages are signed as in Standard Webhooks 1.0: HMAC-SHA256 of id, time and body.
"""

import base64
import hmac
import ipaddress
import re
import socket
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
from yarl import URL

from layoutray.errors import InputError
from layoutray.version import VERSION

_MAX_URL = 2048
_URL = re.compile(r"[\x21-\x7e]+")
_HOST = re.compile(r"[a-z0-9.:\[\]-]+")
TIMEOUT_SECONDS = 10.0
"""For all of a call."""
_HEADERS = {"Content-Type": "application/json", "User-Agent": f"layoutray/{VERSION}"}
_GONE = 410
_EMBEDDED_IPV4 = tuple(map(ipaddress.ip_network, ("::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16")))
"""IPv6 addresses that stand for IPv4 addresses, which could be private."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class _RefusedAddressError(OSError):
    """The name resolves to an address to which no connection is allowed."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of an attempt to call a webhook.

    Attributes:
        milliseconds: until the receiver answered, or the attempt failed.
        status: HTTP status of the answer; None without one.
        error: why the attempt failed; None if it did not.
        final: whether the receiver wants no further attempt.
    """

    milliseconds: float
    status: int | None
    error: str | None
    final: bool = False


@dataclass(frozen=True, slots=True)
class Receivers:
    """What an operator allows.

    Attributes:
        hosts: names, or addresses, that a webhook may have.
        networks: addresses that are not public and still allowed.
    """

    hosts: frozenset[str]
    networks: tuple[Network, ...]

    @classmethod
    def of(cls, hosts: Collection[str], networks: Collection[str]) -> "Receivers":
        """From host names and networks such as `10.1.0.0/16`. Raises InputError when one is none."""
        for host in hosts:
            if not _HOST.fullmatch(host.lower()):
                raise InputError(f"webhook host {host!r} is not the name of a host; give one such as hooks.example.com")
        return cls(frozenset(host.lower() for host in hosts), tuple(map(_network, networks)))

    def check(self, url: str) -> None:
        """Raise InputError when no webhook may have this URL."""
        if len(url) > _MAX_URL or not _URL.fullmatch(url):
            raise InputError(f"webhook: it must be a URL of 1 to {_MAX_URL} printable ASCII characters without blanks")
        try:
            parsed = URL(url)
            host, port = parsed.host or "", parsed.port
        except ValueError as error:
            raise InputError(
                "webhook: it is not a valid URL; give one such as https://hooks.example.com/jobs"
            ) from error
        if parsed.scheme not in ("https", "http") or not port or parsed.user or parsed.password or parsed.fragment:
            raise InputError("webhook: it must be a URL of https or http without user, password and fragment")
        if host not in self.hosts:
            allowed = ", ".join(sorted(self.hosts)) or "none"
            raise InputError(f"webhook: its host {host} is not allowed; allowed: {allowed}; ask the operator")

    def allow(self, address: str) -> bool:
        parsed: Address = ipaddress.ip_address(address.partition("%")[0])
        if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped:
            parsed = parsed.ipv4_mapped
        if any(parsed in network for network in self.networks):
            return True
        embedded = any(parsed in network for network in _EMBEDDED_IPV4)
        return parsed.is_global and not parsed.is_multicast and not embedded

    async def call(self, url: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Send `body` once. An answer with status 2xx is a success."""
        started = time.perf_counter()
        status, error = None, None
        try:
            self.check(url)  # the operator may have removed the host since the job was accepted
            async with (
                self._session() as session,
                session.post(URL(url), data=body, headers={**_HEADERS, **headers}, allow_redirects=False) as response,
            ):
                status = response.status
                error = None if 200 <= status < 300 else f"the receiver answered with status {status}"
        except (InputError, aiohttp.ClientError, OSError) as failure:
            error = _reason(failure)
        return Reply(round((time.perf_counter() - started) * 1000, 1), status, error, final=status == _GONE)

    def _session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(socket_factory=self._socket, force_close=True),
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )

    def _socket(self, address: Any) -> socket.socket:
        """A socket for a connection to an address, given as by `getaddrinfo`."""
        family, kind, protocol, _, destination = address
        if not self.allow(destination[0]):
            raise _RefusedAddressError("no connection to this address is allowed")
        return socket.socket(family, kind, protocol)


def signed(secret: str, message: str, seconds: int, body: bytes) -> Mapping[str, str]:
    """The headers of a message: its id, seconds since 1970, and their signature with the body by a `whsec_` secret."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signature = hmac.digest(key, f"{message}.{seconds}.".encode() + body, "sha256")
    return {
        "webhook-id": message,
        "webhook-timestamp": str(seconds),
        "webhook-signature": f"v1,{base64.b64encode(signature).decode()}",
    }


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise InputError(f"webhook network: {error}; give one such as 10.1.0.0/16") from error


def _reason(failure: Exception) -> str:
    """Why a call failed, for the client. It has no address of the network of the endpoint."""
    causes: Sequence[Any] = [failure, failure.__cause__, getattr(failure, "os_error", None)]
    if any(isinstance(cause, _RefusedAddressError) for cause in causes):
        return "the host has an address to which no connection is allowed"
    if isinstance(failure, InputError):
        return str(failure)
    if isinstance(failure, TimeoutError):
        return f"no answer within {TIMEOUT_SECONDS:g} s"
    if isinstance(failure, aiohttp.ClientConnectorDNSError):
        return "the host name cannot be resolved"
    if isinstance(failure, aiohttp.ClientSSLError):
        return "the certificate is not valid, or TLS failed"
    return "the connection failed, or the answer is not HTTP"
