"""Seeds for the fuzz targets: the golden bytes as files, FOLDER/msg and FOLDER/fact."""
import pathlib
import sys


def main():
    golden = pathlib.Path(__file__).resolve().parent.parent / "wire" / "golden"
    for path in sorted(golden.glob("*.hex")):
        folder = pathlib.Path(sys.argv[1]) / path.name.partition("-")[0]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / path.stem).write_bytes(bytes.fromhex(path.read_text()))


if __name__ == "__main__":
    main()
