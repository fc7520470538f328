"""Where a webhook may go, and where it may not: real sockets on the loopback interface."""

import asyncio
import time
from collections.abc import Iterator

import pytest

from layoutray.errors import InputError
from layoutray.serving.jobs.receivers import Receivers, Reply, signed
from tests.serving.receiver import Receiver, receiving

NOT_PUBLIC = """
    127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 255.255.255.255 240.0.0.1
    ::1 :: fe80::1%eth0 fc00::1 ff02::1 ::ffff:127.0.0.1 ::127.0.0.1 64:ff9b::7f00:1 2002:7f00:1:: 2001:0:1::1
"""
LOOPBACK = Receivers.of(["127.0.0.1", "localhost"], ["127.0.0.0/8"])


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def called(receivers: Receivers, url: str, body: bytes = b"{}") -> Reply:
    return asyncio.run(receivers.call(url, body, {"webhook-id": "1"}))


def test_a_receiver_gets_the_body_and_its_status_is_known(receiver: Receiver) -> None:
    reply = called(LOOPBACK, receiver.url, b'{"a": 1}')
    assert (reply.status, reply.error, reply.final) == (204, None, False)
    (received,) = receiver.received
    assert (received.path, received.body, received.headers["content-type"]) == (
        "/hook",
        b'{"a": 1}',
        "application/json",
    )


@pytest.mark.parametrize("url", ["http://localhost:{port}/hook", "http://127.0.0.1:{port}/hook"])
def test_an_address_that_is_not_public_gets_nothing_unless_the_operator_allows_it(receiver: Receiver, url: str) -> None:
    port = receiver.url.split(":")[2].split("/")[0]
    reply = called(Receivers.of(["127.0.0.1", "localhost"], ["10.0.0.0/8"]), url.format(port=port))
    assert reply.error == "the host has an address to which no connection is allowed"
    assert receiver.received == [], "the address is checked when the name is resolved, for the connection itself"


@pytest.mark.parametrize("address", NOT_PUBLIC.split())
def test_only_public_addresses_are_allowed(address: str) -> None:
    assert not Receivers.of([], []).allow(address)
    assert Receivers.of([], []).allow("8.8.8.8")
    assert Receivers.of([], []).allow("2606:4700::1111")


def test_a_network_that_the_operator_allows_is_allowed_also_as_ipv6() -> None:
    receivers = Receivers.of([], ["10.1.0.0/16", "fd00::/8"])
    assert [receivers.allow(one) for one in ("10.1.2.3", "::ffff:10.1.2.3", "fd00::1", "10.2.0.1")] == [
        *[True] * 3,
        False,
    ]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://hooks.example.com/", "https or http"),
        ("file:///etc/passwd", "https or http"),
        ("https://user:secret@hooks.example.com/", "without user, password"),
        ("https://hooks.example.com/#part", "fragment"),
        ("https://example.com/", "its host example.com is not allowed; allowed: hooks.example.com"),
        ("https://hooks.example.com.evil.org/", "is not allowed"),
        ("https://hooks.example.com@evil.org/", "without user"),
        ("https://evil.org\\@hooks.example.com/", "webhook: it"),
        ("http://2130706433/", "is not allowed"),
        ("http://[::1]/", "is not allowed"),
        ("http://[::1/", "not a valid URL"),
        ("http://hooks.example.com:99999/", "not a valid URL"),
        ("//hooks.example.com/", "https or http"),
        ("https://hooks.example.com/ a", "without blanks"),
        ("https://hooks.example.com/\r\nHost: evil", "without blanks"),
        ("https://hoöks.example.com/", "ASCII"),
        ("", "1 to 2048"),
        ("https://hooks.example.com/" + "a" * 2048, "1 to 2048"),
    ],
)
def test_a_url_that_no_webhook_may_have_is_refused_with_its_reason(url: str, said: str) -> None:
    with pytest.raises(InputError, match=r"^webhook: ") as caught:
        Receivers.of(["hooks.example.com"], []).check(url)
    assert said in str(caught.value)


def test_the_host_is_compared_without_case_and_port() -> None:
    receivers = Receivers.of(["Hooks.Example.com"], [])
    receivers.check("HTTPS://hooks.EXAMPLE.com:8443/a?b=c")


def test_settings_that_are_no_hosts_and_networks_are_refused() -> None:
    with pytest.raises(InputError, match=r"'https://a\.b/' is not the name of a host"):
        Receivers.of(["https://a.b/"], [])
    with pytest.raises(InputError, match=r"10\.1\.2\.3/8 has host bits set; give one such as"):
        Receivers.of([], ["10.1.2.3/8"])


def test_redirects_are_not_followed(receiver: Receiver) -> None:
    with receiving() as other:
        receiver.statuses, receiver.headers = [307], {"Location": other.url}
        reply = called(LOOPBACK, receiver.url)
    assert (reply.status, reply.error) == (307, "the receiver answered with status 307")
    assert other.received == []


def test_a_receiver_that_is_gone_wants_no_further_call(receiver: Receiver) -> None:
    receiver.statuses = [410]
    assert called(LOOPBACK, receiver.url).final


def test_a_body_that_does_not_end_is_not_read(receiver: Receiver) -> None:
    receiver.endless, receiver.statuses, started = True, [200], time.monotonic()
    assert called(LOOPBACK, receiver.url).error is None
    assert time.monotonic() - started < 5
    receiver.endless = False


def test_a_receiver_that_does_not_answer_does_not_hold_the_call(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("layoutray.serving.jobs.receivers.TIMEOUT_SECONDS", 0.3)
    receiver.seconds = 1.0
    reply = called(LOOPBACK, receiver.url)
    assert (reply.status, reply.error) == (None, "no answer within 0.3 s")


def test_a_port_where_nobody_listens_and_a_name_that_nobody_has_are_told_apart() -> None:
    with receiving() as gone:
        pass
    assert called(LOOPBACK, gone.url).error == "the connection failed, or the answer is not HTTP"
    reply = called(Receivers.of(["no-such-host.invalid"], []), "http://no-such-host.invalid/")
    assert reply.error == "the host name cannot be resolved"


def test_tls_that_nobody_can_trust_is_refused(receiver: Receiver) -> None:
    reply = called(LOOPBACK, receiver.url.replace("http:", "https:"))
    assert reply.error == "the certificate is not valid, or TLS failed"


def test_a_message_is_signed_as_standard_webhooks_say() -> None:
    """The vector with which the libraries of Standard Webhooks are tested."""
    secret, message = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek"
    assert signed(secret, message, 1614265330, b'{"test": 2432232314}') == {
        "webhook-id": message,
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
