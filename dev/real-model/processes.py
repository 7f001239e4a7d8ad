"""Starts llama.cpp's server and the gateway on loopback, and sends requests to them."""

import contextlib
import json
import pathlib
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

# Longer than any answer of a small model on a small machine.
PATIENCE = 1800


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def process(command, log):
    with open(log, "w", encoding="utf-8") as file:
        child = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        try:
            yield child
        finally:
            child.terminate()
            child.wait()


def wait_for(url, child, log):
    for _ in range(600):
        if child.poll() is not None:
            raise SystemExit(f"a process ended early: see {log}")
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=5).read()
            return
        time.sleep(0.2)
    raise SystemExit(f"nothing answers at {url}: see {log}")


@contextlib.contextmanager
def llama(options, window):
    """A server with one slot of `window` tokens; yields its address."""
    port = free_port()
    log = pathlib.Path(options.work) / f"llama-{window}.log"
    command = [options.server, "-m", options.model, "--host", "127.0.0.1", "--port", str(port)]
    command += ["-c", str(window), "-np", "1", "--jinja", "--no-webui"]
    if options.threads:
        command += ["-t", str(options.threads)]
    with process(command, log) as child:
        url = f"http://127.0.0.1:{port}"
        wait_for(f"{url}/health", child, log)
        yield url


class Gateway:
    """A running gateway: its address, its log and its page."""

    def __init__(self, url, log, token):
        self.url, self.log, self.token = url, log, token

    def overflows(self):
        """Number of requests that the server refused as too long and that were fitted again."""
        return pathlib.Path(self.log).read_text(encoding="utf-8").count("refused a request as too long")

    def page(self):
        """Data of the page of recent calls."""
        form = urllib.parse.urlencode({"token": self.token}).encode()
        login = urllib.request.Request(f"{self.url}/cupel/login", data=form, headers={"origin": self.url})
        opener = urllib.request.build_opener(NoRedirects)
        try:
            answer = opener.open(login)
        except urllib.error.HTTPError as error:
            answer = error
        cookie = answer.headers["set-cookie"].split(";")[0]
        events = urllib.request.Request(f"{self.url}/cupel/events", headers={"cookie": cookie})
        with urllib.request.urlopen(events, timeout=60) as stream:
            for line in stream:
                if line.startswith(b"data: "):
                    return json.loads(line[6:])


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


@contextlib.contextmanager
def gateway(options, upstream, settings="", rules=""):
    """A gateway in front of a server, with these top-level settings and these rules for models."""
    port, work = free_port(), pathlib.Path(options.work)
    config, log, token = work / "gateway.toml", work / "gateway.log", work / "token"
    config.write_text(f'{settings}\n[[upstreams]]\nurl = "{upstream}/v1"\nkey = "none"\n{rules}', encoding="utf-8")
    token.unlink(missing_ok=True)
    command = [options.gateway, "--config", str(config), "--listen", f"127.0.0.1:{port}"]
    with process(command + ["--token-file", str(token)], log) as child:
        url = f"http://127.0.0.1:{port}"
        wait_for(f"{url}/health/liveness", child, log)
        yield Gateway(url, log, token.read_text(encoding="utf-8").strip().split("#")[-1].split("=")[-1])


def post(url, body):
    """Returns status, headers and text of an answer."""
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers={"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()
