// Any bytes are read to their end, or are a damaged stream with an error that names the file;
// blocks hold whole lines. Streams that unpack to very much are cut: that is not what is tested.
#include "compression.hpp"
#include "data/input_file.hpp"
#include "fuzzing.hpp"

namespace {
using namespace margrove;

void read_blocks(std::string_view bytes) {
  LineBlocks blocks(open_memory(bytes, "f"), "f");
  while (blocks.next() && blocks.num_bytes() < (1 << 24)) {
    testing::check(!blocks.text().empty(), "no block is empty");
    testing::check(*(blocks.text().data() + blocks.text().size()) == '\n', "a line end follows");
  }
}

std::string read_all(ByteSource& source) {
  std::string all;
  std::string part(777, '\0');
  while (const std::size_t count = source.read(part)) all.append(part, 0, count);
  return all;
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text = testing::as_text(bytes, size);
  testing::expect_result_or_named_error([&] { read_blocks(text); });
  testing::check(read_all(*open_memory(testing::gzip(text), "f")) == text, "gzip reads back");
  testing::check(read_all(*open_memory(testing::zstd(text), "f")) == text, "zstd reads back");
  return 0;
}
