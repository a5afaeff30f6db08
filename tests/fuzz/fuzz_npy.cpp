// An array of NumPy is read row by row or refused with an error that names the file.
#include <cmath>

#include "data/npy_reader.hpp"
#include "fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  const std::string_view text = testing::as_text(bytes, size);
  testing::expect_result_or_named_error([&] {
    NpyArray array = parse_npy(text, "f");
    if (array.num_columns() == 0) return;  // any number of rows takes no bytes
    for (std::uint64_t i = 0; i < array.num_rows(); ++i) {
      const auto row = array.row(i);
      testing::check(row.size() == array.num_columns(), "a row has all columns");
      for (const float x : row) testing::check(std::isfinite(x), "numbers are finite");
    }
  });
  return 0;
}
