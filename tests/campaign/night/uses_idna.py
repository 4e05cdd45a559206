import idna
print("encoded", idna.encode("bücher.example").decode())
