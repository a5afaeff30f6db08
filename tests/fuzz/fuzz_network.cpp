// Any text gives a kernel network that its own text gives again, or an error that names the source.
#include "fuzzing.hpp"
#include "kernel/network.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  const std::vector<NamedView> views{{"main", {{0, 3}}}, {"more", {{3, 5}}}};
  testing::expect_result_or_named_error([&] {
    const auto network = parse_network(std::string(testing::as_text(bytes, size)), "f:", 5, views);
    const std::string text = format_network(network);
    testing::check(format_network(parse_network(text, "f:", 5, views)) == text,
                   "a network's text gives it again");
  });
  return 0;
}
