#pragma once

#include <filesystem>

namespace margrove::testing {

/// The folder of the project's source tree. It is compiled into one object file only, so that a
/// compiler cache serves the tests of all clones.
std::filesystem::path source_folder();

}  // namespace margrove::testing
