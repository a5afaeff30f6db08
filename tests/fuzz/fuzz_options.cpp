// Options of every method, one "name value" a line after a line with the method's name: each is set
// and reads back to itself, or is refused; what is set can be checked.
#include <sstream>

#include "fuzzing.hpp"
#include "margrove/options.hpp"
#include "methods/methods.hpp"
#include "model/method.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  std::istringstream lines{std::string(testing::as_text(bytes, size))};
  std::string line;
  std::getline(lines, line);
  try {
    const auto run = find_method(line).start();
    OptionTable& options = run->options();
    while (std::getline(lines, line)) {
      const auto blank = std::min(line.find(' '), line.size());
      const std::string name = line.substr(0, blank);
      options.set(name, line.substr(std::min(blank + 1, line.size())));
      const std::string value = options.get(name);
      options.set(name, value);
      testing::check(options.get(name) == value, "an option's text gives it again");
    }
    options.validate();
  } catch (const InvalidInput&) {  // InvalidOption too
  }
  return 0;
}
