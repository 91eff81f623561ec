# documented_options.py <tutti> <folder of the documents>: compares the options of `tutti serve --help` with those of
# tutti-serve(1) and of server.toml. Catches an undocumented option, and a documented option that no longer exists.
import re
import subprocess
import sys
import tomllib

command, documents = sys.argv[1:]
listed = subprocess.run([command, "serve", "--help"], capture_output=True, text=True, check=True).stdout
options = set(re.findall(r"^  (?:-h,)?--([a-z-]+)", listed, re.MULTILINE))
with open(f"{documents}/man/tutti-serve.1", encoding="utf-8") as page:
    manual = {name.replace("\\-", "-") for name in re.findall(r"^\.It Fl \\-(\S+)", page.read(), re.MULTILINE)}
with open(f"{documents}/server.toml", encoding="utf-8") as example:
    text = re.sub(r"^#(?=\S)", "", example.read(), flags=re.MULTILINE)
keys = set(tomllib.loads(text))

# Some options exist only on the command line, and some only in the file.
expected_keys = options - {"check", "config", "help"} | {"object", "users"}
wrong = []
for where, has, wanted in (("tutti-serve.1", manual, options), ("server.toml", keys, expected_keys)):
    wrong += [f"{where} lacks {name}" for name in sorted(wanted - has)]
    wrong += [f"{where} has {name}, which is no option" for name in sorted(has - wanted)]
if len(options) < 60:
    wrong.append(f"--help lists only {len(options)} options")
sys.exit("\n".join(wrong) or 0)
