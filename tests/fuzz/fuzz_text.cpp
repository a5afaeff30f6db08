// Any bytes give documents of valid UTF-8 that tf-idf can weigh, or an error that names the file.
#include "data/annif_reader.hpp"
#include "data/utf8.hpp"
#include "fuzzing.hpp"
#include "margrove/text_reader.hpp"
#include "margrove/tfidf.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  const bool is_annif = starts_like_annif(testing::as_text(bytes, size));
  testing::expect_result_or_named_error([&] {
    const TextDataset data = is_annif ? parse_annif(testing::as_text(bytes, size), "f")
                                      : parse_text(testing::as_text(bytes, size), "f");
    testing::check(data.documents.size() == data.labels.num_rows(), "every row has a label set");
    const TfidfOptions of_runs{
        .word_ngrams = {1, 2}, .char_ngrams = {2, 4}, .term_weights = TextTerms::Weights::bm25};
    for (const TfidfOptions& options : {TfidfOptions(), of_runs}) {
      const Preprocessing fitted = Preprocessing::fit_text(data.documents, options);
      fitted.check();
      for (const auto& term : fitted.vocabulary) {
        testing::check(find_invalid_utf8(term) == std::string_view::npos, "terms are UTF-8");
      }
      check_csr(fitted.apply(data.documents));
    }
  });
  return 0;
}
