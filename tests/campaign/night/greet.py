import platform
print("ready on", platform.machine())
