"""A name server that knows one name."""
import socket

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("10.77.0.1", 53))
while True:
    question, who = server.recvfrom(512)
    end = question.index(b"\0", 12) + 5
    is_a = question[end - 4:end - 2] == b"\0\1"
    answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton("10.77.0.1") if is_a else b""
    server.sendto(question[:2] + b"\x85\x80\0\1" + (b"\0\1" if is_a else b"\0\0") + b"\0\0\0\0" + question[12:end] + answer, who)
