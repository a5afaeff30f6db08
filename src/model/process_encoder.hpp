#pragma once
// An encoder of texts in a process of its own: `python3 -m margrove.vectors serve MODEL`, which
// runs networks in ONNX. The process starts when it is first needed.

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "margrove/text_encoder.hpp"
#include "margrove/tfidf.hpp"

namespace margrove {

class ProcessEncoder final : public TextEncoder {
 public:
  /// `model` is a name that margrove.vectors knows, or a folder. At most `num_threads` (0: all)
  /// texts are encoded at once, and the interpreter is searched on the PATH unless it has a slash.
  explicit ProcessEncoder(std::string model, int num_threads = 0,
                          std::string interpreter = "python3");
  ~ProcessEncoder() override;

  /// Throws InvalidInput if the process cannot start, or cannot use the model.
  Facts facts(RunControl* control) override;
  /// Throws InvalidInput naming what the process says is wrong with a text, and OutOfTime where
  /// `control` asks to end, which ends the process.
  std::vector<float> encode(std::span<const std::string_view> texts, RunControl* control) override;

 private:
  class Process;
  Process& started(RunControl* control);

  std::string model_;
  int num_threads_;
  std::string interpreter_;
  std::mutex mutex_;  // of the next two
  std::unique_ptr<Process> process_;
  std::optional<Facts> facts_;
};

/// How networks run that options and models name.
struct EncoderProcess {
  int num_threads = 0;  // 0: all
  std::string interpreter = "python3";
};
/// Gives the options an encoder for the network that option `vectors` names, unless that is none or
/// they have an encoder.
void name_encoder(TfidfOptions& options, const EncoderProcess& process = {});
/// Gives the vectors of a model the encoder for the network whose name it keeps, if it has any,
/// instead of the one that they have.
void name_encoder(Preprocessing::Vectors& vectors, const EncoderProcess& process = {});

}  // namespace margrove
