#include "margrove/text_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/utf8.hpp"
#include "files.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using testing::message_of;
using std::string_literals::operator""s;

std::string error_of(std::string_view text, const TextOptions& options = {}) {
  return message_of([&] { parse_text(text, "f", options); });
}

TEST(TextReader, reads_labels_and_documents) {
  const TextDataset data = parse_text("a,b\tone two\r\n\tno label\n\nb\t\nb\tx\ty", "f");
  EXPECT_THAT(data.documents, ElementsAre("one two", "no label", "", "x\ty"));
  EXPECT_THAT(data.labels[0], ElementsAre(0U, 1U));
  EXPECT_TRUE(data.labels[1].empty());
  EXPECT_THAT(data.codec.names(), ElementsAre("a", "b"));
}

TEST(TextReader, a_codec_gives_known_labels_their_ids) {
  const LabelCodec codec({"x", "y"});
  EXPECT_THAT(parse_text("y\tone\n", "f", {.codec = &codec}).labels[0], ElementsAre(1U));
  EXPECT_EQ(error_of("x,z\tone\n", {.codec = &codec, .known_labels_only = true}),
            "f:1:3: label is 'z', but must be one of the 2 known labels");
}

TEST(TextReader, errors_say_where_and_what) {
  EXPECT_EQ(error_of(""), "f: the file has no rows, but must have at least one");
  EXPECT_EQ(error_of("a\tok\nabc\n"),
            "f:2:4: the line has no tab, but must be label[,label]<TAB>text");
  EXPECT_EQ(error_of("a b\tx\n"),
            "f:1:1: label is 'a b', but must not contain blanks, commas or control characters");
  EXPECT_EQ(error_of("a,\tx\n"), "f:1:3: label is empty, but must have at least one character");
  EXPECT_EQ(error_of("a\tx\0y\n"s), "f:1:4: the text has a NUL byte, but must be UTF-8 text");
  EXPECT_EQ(error_of("a\tab\xFFy\n"), "f:1:5: byte is '\\xff', but the text must be valid UTF-8");
}

TEST(Utf8, refuses_exactly_the_ill_formed) {
  for (const std::string_view good :
       {"", "a", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(find_invalid_utf8(good), std::string_view::npos) << ::testing::PrintToString(good);
  }
  for (const std::string_view bad :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x41", "\xE0\x9F\xBF", "\xE2\x82",
        "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
        "\xFE", "\xFF", "\xF0\x90\x80"}) {
    const std::string text = "12345678" + std::string(bad) + "tail";
    EXPECT_EQ(find_invalid_utf8(text), 8U) << ::testing::PrintToString(bad);
    EXPECT_EQ(find_invalid_utf8(bad), 0U) << ::testing::PrintToString(bad);
  }
}

TEST(Utf8, printable_shows_control_characters_and_stray_bytes_in_hexadecimal) {
  EXPECT_EQ(printable("zo\xC3\xAB\t1\n"), "zo\xC3\xAB\t1\n");
  EXPECT_EQ(printable("\x1B[2J\r\x7F\xC2\x9B\xFF"), "\\x1b[2J\\x0d\\x7f\\xc2\\x9b\\xff");
}

TEST(Utf8, every_character_reads_back) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c == 0xD800) c = 0xE000;
    std::string text;
    append_utf8(text, c);
    const CodePoint back = decode_utf8(text);
    ASSERT_EQ(back.value, c);
    ASSERT_EQ(back.size, text.size());
  }
}

}  // namespace
}  // namespace margrove
