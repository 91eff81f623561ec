"""Processes: a server in each configuration, and the generator that drives it."""

import json
import pathlib
import signal
import subprocess
import tempfile
import time


class Server:
    """`tutti serve` with the TPC-C procedures, on a port that the system chooses."""

    def __init__(self, programs, name, options, settings):
        self.name = name
        self.programs = programs
        self.folder = tempfile.TemporaryDirectory(prefix="tutti-serving-")
        self.port_file = pathlib.Path(self.folder.name) / "port"
        self.log = pathlib.Path(self.folder.name) / "log"
        command = [str(programs / "tutti"), "serve", str(programs / "tpcc-procedures.so"), "--port", "0"]
        command += ["--port-file", str(self.port_file), *options]
        for setting in settings:
            command += ["--set", setting]
        with self.log.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        while not self.port_file.exists():
            if self.process.poll() is not None:
                raise RuntimeError(f"the server '{name}' did not start: {self.log.read_text(encoding='utf-8')}")
            time.sleep(0.02)
        self.port = self.port_file.read_text(encoding="utf-8").strip()

    def drive(self, *options):
        """One run of the generator; what it measured."""
        command = [str(self.programs / "tutti-tpcc-load"), "--port", self.port, "--json", *map(str, options)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"server '{self.name}': {done.stderr.strip()}")
        return json.loads(done.stdout)

    def end(self):
        """Ends it in good order. It fails if TPC-C's conditions do not hold."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait()
        text = self.log.read_text(encoding="utf-8")
        self.folder.cleanup()
        if status != 0:
            raise RuntimeError(f"server '{self.name}' ended with status {status}:\n{text}")

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()
