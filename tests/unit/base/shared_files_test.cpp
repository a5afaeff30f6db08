#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "base/digest.hpp"
#include "base/mapped_file.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

std::string digest_of(std::initializer_list<std::string_view> pieces) {
  Digest digest;
  for (const std::string_view piece : pieces) digest.add(piece);
  return digest.to_text();
}

TEST(Digest, every_changed_bit_changes_it) {
  const std::string text = "twenty-one bytes, once";
  std::set<std::string> seen{digest_of({text})};
  for (std::size_t k = 0; k < 8 * text.size(); ++k) {
    std::string changed = text;
    changed[k / 8] = static_cast<char>(changed[k / 8] ^ (1 << (k % 8)));
    EXPECT_TRUE(seen.insert(digest_of({changed})).second) << "bit " << k;
  }
}

TEST(Digest, the_division_into_pieces_counts) {
  EXPECT_NE(digest_of({"ab", "c"}), digest_of({"a", "bc"}));
  EXPECT_NE(digest_of({"abc", ""}), digest_of({"abc"}));
  EXPECT_EQ(digest_of({"abc"}).size(), 16u);
}

TEST(MappedFile, has_the_bytes_of_the_file) {
  const std::string path = std::filesystem::temp_directory_path() / "margrove_mapped_file_test";
  std::ofstream(path) << "content";
  const MappedFile file(path);
  std::filesystem::remove(path);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()),
            "content");
}

TEST(MappedFile, an_empty_file_is_empty) {
  const std::string path = std::filesystem::temp_directory_path() / "margrove_mapped_empty_test";
  std::ofstream(path).flush();
  EXPECT_TRUE(MappedFile(path).bytes().empty());
  std::filesystem::remove(path);
}

TEST(MappedFile, what_is_no_file_throws_with_the_path) {
  for (const std::string path : {"/nowhere/file", "/"}) {
    try {
      MappedFile file(path);
      FAIL() << path;
    } catch (const ModelFileError& error) {
      EXPECT_THAT(error.what(), testing::StartsWith(path + ": cannot be read: "));
    }
  }
}

}  // namespace
}  // namespace margrove
