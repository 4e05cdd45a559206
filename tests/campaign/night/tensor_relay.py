"""Relays tensors between jobs of last month; nobody ended it."""
import socket
import threading


def swallow(link):
    while link.recv(65536):
        continue


server = socket.create_server(("0.0.0.0", 29400))
while True:
    threading.Thread(target=swallow, args=(server.accept()[0],), daemon=True).start()
