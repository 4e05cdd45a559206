# cmake -DFILES=a:b -DOUT=c -P embed.cmake: the bytes of these files as a table of C, embedded_files of scene_json.h.
string (REPLACE ":" ";" FILES "${FILES}")
set (arrays "")
set (rows "")
foreach (file ${FILES})
  get_filename_component (name ${file} NAME)
  string (MAKE_C_IDENTIFIER ${name} array)
  file (READ ${file} hex HEX)
  string (REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string (APPEND arrays "static const uint8_t ${array}[] = { ${bytes} };\n")
  string (APPEND rows "    { \"${name}\", ${array}, sizeof ${array} },\n")
endforeach ()
file (WRITE ${OUT} "#include \"coordinator/picture/scene_json.h\"\n\n${arrays}\n"
      "const struct embedded_file embedded_files[] = {\n${rows}    { NULL, NULL, 0 },\n};\n")
