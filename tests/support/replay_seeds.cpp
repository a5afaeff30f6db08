// Gives the seeds of all fuzz targets to their targets once, for tools/reader_coverage.py, which
// names each target's function after it: replay_seeds NAME FILE...
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#define MARGROVE_TARGET(name) extern "C" int fuzz_##name(const std::uint8_t*, std::size_t);
#include "fuzz_targets.inc"
#undef MARGROVE_TARGET

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t*, std::size_t size, std::size_t) {
  return size;
}

int main(int argc, char** argv) {
  int (*target)(const std::uint8_t*, std::size_t) = nullptr;
#define MARGROVE_TARGET(name) \
  if (std::string_view(argv[1]) == #name) target = fuzz_##name;
#include "fuzz_targets.inc"
#undef MARGROVE_TARGET
  if (target == nullptr) return 2;
  for (int k = 2; k < argc; ++k) {
    std::ifstream file(argv[k], std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    target(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  return 0;
}
