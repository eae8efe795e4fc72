# cmake -DINPUT= -DOUTPUT= -DSYMBOL= -P EmbedText.cmake: writes a C++ source that holds the file as bytes.
file(READ "${INPUT}" hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
file(WRITE "${OUTPUT}.new" "#include <string_view>
namespace lpes::resources {
namespace { constexpr char ${SYMBOL}Bytes[] = {${bytes}'\\0'}; }
extern const std::string_view ${SYMBOL};
const std::string_view ${SYMBOL}{${SYMBOL}Bytes, sizeof(${SYMBOL}Bytes) - 1};
}  // namespace lpes::resources
")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
