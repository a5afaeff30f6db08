#include "cli/sentence_answers.hpp"

#include "data/input_file.hpp"
#include "data/sentence_lines.hpp"
#include "data/text_scan.hpp"

namespace margrove::cli {
std::string with_answers(const std::string& path, const SentencePredictor& predictor,
                         std::string_view answers) {
  std::string lines;
  LineBlocks blocks(open_file(path), path);
  bool begins_sentence = true;
  while (blocks.next()) {
    for (std::string_view rest = blocks.text(); !rest.empty();) {
      const std::string_view line = detail::take_line(rest);
      if (detail::is_blank_line(line) || !predictor.has_token(line, begins_sentence)) {
        begins_sentence = true;
        lines.append(line).append("\n");
        continue;
      }
      begins_sentence = false;
      std::string_view answer;
      while (answer.empty() && !answers.empty()) answer = detail::take_line(answers);
      lines.append(predictor.answered(line, answer, path)).append("\n");
    }
  }
  return lines;
}

}  // namespace margrove::cli
