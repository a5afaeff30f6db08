#include "model/process_encoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/out_of_time.hpp"
#include "files.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

using margrove::testing::message_of;
using margrove::testing::read_bytes;
using margrove::testing::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kTexts[] = {"a", "bc"};
constexpr std::string_view kHello =
    R"(echo '{"name": "tiny", "digest": "d1", "width": 2, "version": 1}')";

/// Interpreters that are scripts of a shell.
class ProcessEncoderTest : public ::testing::Test {
 protected:
  std::string script(std::string_view lines) {
    const std::string path = folder_ / "interpreter";
    std::ofstream(path) << "#!/bin/sh\n" << lines << "\n";
    ::chmod(path.c_str(), 0700);
    return path;
  }

  std::string error_of(std::string_view lines) {
    ProcessEncoder encoder("tiny", 0, script(lines));
    return message_of([&] { encoder.encode(kTexts, nullptr); });
  }

  ScratchFolder folder_;
};

TEST_F(ProcessEncoderTest, vectors_come_after_reports) {
  // The request has 4 + (4 + 1) + (4 + 2) bytes.
  ProcessEncoder encoder("tiny", 3, script(concat(kHello, R"(
echo "$@" > "$0.arguments"
head -c 15 > "$0.request"
printf '\1\0\0\0\7\0\0\0\0\0\0\0'
printf '\0\0\200\77\0\0\0\300\0\0\0\0\0\0\200\77'
cat > /dev/null)")));
  EXPECT_EQ(encoder.facts(nullptr), (TextEncoder::Facts{"tiny", "d1", 2}));
  EXPECT_THAT(encoder.encode(kTexts, nullptr), ElementsAre(1, -2, 0, 1));
  EXPECT_EQ(read_bytes(folder_ / "interpreter.arguments"),
            "-m margrove.vectors serve tiny --threads 3\n");
  EXPECT_EQ(read_bytes(folder_ / "interpreter.request"),
            std::string("\2\0\0\0\1\0\0\0a\2\0\0\0bc", 15));
}

TEST_F(ProcessEncoderTest, what_the_process_says_is_the_error) {
  EXPECT_EQ(error_of(R"(echo '{"error": "no such folder"}'; exit 2)"), "vectors: no such folder");
  EXPECT_EQ(
      error_of(concat(kHello, "\nhead -c 15 > /dev/null; printf '\\2\\0\\0\\0\\3\\0\\0\\0bad'")),
      "vectors: bad");
}

TEST_F(ProcessEncoderTest, processes_that_are_no_encoders_are_refused) {
  constexpr std::string_view kNeeds = "with the packages margrove, onnxruntime and tokenizers";
  EXPECT_THAT(error_of("exit 1"), HasSubstr(kNeeds));
  EXPECT_THAT(error_of("echo 7"), HasSubstr(kNeeds));
  EXPECT_THAT(error_of(R"(echo '{"version": 2}')"), HasSubstr("its version is another"));
  EXPECT_THAT(error_of(R"(echo '{"version": 1, "width": "wide"}')"), HasSubstr(kNeeds));
  EXPECT_THAT(error_of(concat(kHello, "\nhead -c 15 > /dev/null; printf '\\11\\0\\0\\0'")),
              HasSubstr("must not"));
  EXPECT_THAT(error_of(concat(kHello, "\nexit 0")), HasSubstr("has ended"));
  ProcessEncoder missing("tiny", 0, folder_ / "nothing");
  EXPECT_THROW(missing.facts(nullptr), InvalidInput);
}

TEST_F(ProcessEncoderTest, an_interruption_ends_the_work_and_the_process) {
  for (const bool has_started : {false, true}) {
    ProcessEncoder encoder("tiny", 0, script(concat(has_started ? kHello : "", "\nsleep 600")));
    RunControl control;
    control.interrupt();
    EXPECT_THROW(encoder.encode(kTexts, &control), OutOfTime);
  }
}

TEST_F(ProcessEncoderTest, a_process_that_has_ended_is_started_again) {
  ProcessEncoder encoder("tiny", 0, script(concat(kHello, "\nexit 0")));
  for (int time = 0; time < 2; ++time) {
    EXPECT_THROW(encoder.encode(kTexts, nullptr), InvalidInput);
  }
}

TEST_F(ProcessEncoderTest, names_of_options_and_models_have_encoders) {
  const EncoderProcess process{2, script(concat("echo \"$@\" > \"$0.arguments\"\n", kHello))};
  TfidfOptions options;
  name_encoder(options, process);
  EXPECT_EQ(options.encoder, nullptr) << "none";
  options.vectors = "tiny";
  name_encoder(options, process);
  const std::shared_ptr<TextEncoder> given = options.encoder;
  name_encoder(options, process);
  EXPECT_EQ(options.encoder, given);
  EXPECT_EQ(given->facts(nullptr).name, "tiny");

  Preprocessing::Vectors vectors;
  name_encoder(vectors, process);
  EXPECT_EQ(vectors.encoder, nullptr) << "the model has none";
  vectors.facts = {"kept", "d1", 2};
  vectors.encoder = given;
  name_encoder(vectors, process);
  EXPECT_NE(vectors.encoder, given);
  EXPECT_THROW(vectors.encoder->encode(kTexts, nullptr), InvalidInput) << "the process ends";
  EXPECT_EQ(read_bytes(folder_ / "interpreter.arguments"),
            "-m margrove.vectors serve kept --threads 2\n");
}

}  // namespace
}  // namespace margrove
