#include "source_folder.hpp"

namespace margrove::testing {

std::filesystem::path source_folder() { return MARGROVE_SOURCE_DIR; }

}  // namespace margrove::testing
