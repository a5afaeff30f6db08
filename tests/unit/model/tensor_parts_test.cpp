#include "model/tensor_parts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "files.hpp"
#include "margrove/errors.hpp"
#include "word_terms.hpp"

namespace margrove {
namespace {
using ::testing::HasSubstr;
using testing::message_of;

RecordFeatures features() {
  RecordFields fields;
  fields.documents = {"apple", "pear apple"};
  fields.numeric = {{1, std::numeric_limits<float>::quiet_NaN()}, {2, 3}};
  fields.categorical = {{LabelCodec({"red", "blue"}), {0, 1}}};
  return RecordFeatures::fit(fields,
                             {.text = {"t"},
                              .numeric = {"n", "m"},
                              .categorical = {"c"},
                              .path_levels = {"a", "b"},
                              .separator = "/"},
                             {});
}

std::string message_after(const RecordFeatures& broken) {
  TensorMap tensors("f");
  save_records(tensors, broken);
  return message_of<std::runtime_error>([&] { load_records(tensors); });
}

TEST(TensorParts, records_read_back_equal) {
  const RecordFeatures saved = features();
  TensorMap tensors;
  save_records(tensors, saved);
  const auto loaded = load_records(tensors);
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->selection, saved.selection);
  EXPECT_EQ(loaded->text.vocabulary, saved.text.vocabulary);
  EXPECT_EQ(loaded->text.idf, saved.text.idf);
  EXPECT_EQ(loaded->numeric[0].mean, 1);
  EXPECT_TRUE(loaded->numeric[0].may_be_missing);
  EXPECT_FALSE(loaded->numeric[1].may_be_missing);
  EXPECT_EQ(loaded->categorical, saved.categorical);
  EXPECT_FALSE(load_records(TensorMap()).has_value());
}

RecordFeatures with_vector() {
  RecordFields fields;
  fields.numeric = {{1, 2}};
  fields.vector_widths = {2, 1};
  fields.vectors = {1, 2, 3, 4, 5, 6};
  TfidfOptions options;
  options.vector_share = 0.25;
  return RecordFeatures::fit(fields, {.numeric = {"n"}, .vectors = {"e", "f"}, .label = "l"},
                             options);
}

TEST(TensorParts, records_with_a_vector_read_back_equal_or_are_refused) {
  const RecordFeatures saved = with_vector();
  TensorMap tensors;
  save_records(tensors, saved);
  const auto loaded = load_records(tensors);
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->selection, saved.selection);
  EXPECT_EQ(loaded->vector_widths, saved.vector_widths);
  EXPECT_EQ(loaded->vector_share, 0.25);
  RecordFeatures broken = saved;
  broken.vector_widths = {3};
  EXPECT_THAT(message_after(broken), HasSubstr("1 lengths of vectors do not fit"));
  broken = saved;
  broken.vector_share = 0;
  EXPECT_THAT(message_after(broken), HasSubstr("have the share 0, but must be in (0, 1)"));
}

TEST(TensorParts, alternative_ids_of_labels_read_back_or_are_refused) {
  LabelCodec saved({"cat", "fish"});
  saved.add_alternative("tomcat", 0);
  saved.add_alternative("puss", 0);
  TensorMap tensors("f");
  save_labels(tensors, saved);
  const LabelCodec loaded = load_labels(tensors);
  EXPECT_EQ(loaded.size(), 2U);
  EXPECT_TRUE(std::ranges::equal(loaded.alternatives(), saved.alternatives()));
  EXPECT_EQ(loaded.find("puss"), 0U);
  struct Damaged {
    std::vector<std::string> others;
    std::vector<LabelId> label_of;
    std::string says;
  };
  for (const auto& [others, label_of, says] :
       {Damaged{{"a", "b"}, {0, 2}, "the alternative id 'b' stands for label 2, but there are 2"},
        Damaged{{"a", "a"}, {0, 1}, "the alternative id 'a' stands for a label already"},
        Damaged{{"a", "fish"}, {0, 1}, "the alternative id 'fish' stands for a label already"},
        Damaged{{"a", ""}, {0, 1}, "an alternative id is empty"},
        Damaged{{"a", "b"}, {0}, "tensor labels.alternative_of has 1 entries"}}) {
    tensors.put_strings("labels.alternatives", others);
    tensors.put<LabelId>("labels.alternative_of", label_of);
    EXPECT_THAT(message_of<std::runtime_error>([&] { load_labels(tensors); }), HasSubstr(says));
  }
}

TEST(TensorParts, terms_of_texts_read_back_equal) {
  const Preprocessing saved =
      Preprocessing::fit_text(std::vector<std::string>{"the red apple", "a pear"},
                              {.word_ngrams = {1, 2},
                               .char_ngrams = {3, 4},
                               .term_weights = TextTerms::Weights::bm25,
                               .bm25_k1 = 1.7,
                               .bm25_b = 0.3,
                               .stop_words = {"the", "a"}});
  TensorMap tensors("f");
  save_preprocessing(tensors, saved);
  const Preprocessing loaded = load_preprocessing(tensors);
  EXPECT_EQ(loaded.terms, saved.terms);
  EXPECT_EQ(loaded.term_weights, saved.term_weights);
  EXPECT_EQ(loaded.bm25_k1, saved.bm25_k1);
  EXPECT_EQ(loaded.bm25_b, saved.bm25_b);
  EXPECT_EQ(loaded.average_length, saved.average_length);
  EXPECT_EQ(loaded.vocabulary, saved.vocabulary);
  EXPECT_EQ(loaded.idf, saved.idf);
  EXPECT_TRUE(loaded.has_own_terms());
  TensorMap of_hashes("f");
  const Preprocessing hashed =
      Preprocessing::fit_text(std::vector<std::string>{"red apple", "red car"},
                              testing::of_words({.hash_features = 99, .hash_seed = 4}));
  save_preprocessing(of_hashes, hashed);
  EXPECT_EQ(load_preprocessing(of_hashes).terms, hashed.terms);
  EXPECT_EQ(load_preprocessing(of_hashes).hashes, hashed.hashes);
  of_hashes.put_text("preprocessing.num_hashes", "2");
  EXPECT_THAT(message_of<std::runtime_error>([&] { load_preprocessing(of_hashes); }),
              HasSubstr("but must be less than 2 and after the one before it"));
  tensors.put_text("preprocessing.word_ngrams", "3-1");
  EXPECT_THAT(message_of<std::runtime_error>([&] { load_preprocessing(tensors); }),
              HasSubstr("metadata preprocessing.word_ngrams: n-grams: lengths are '3-1'"));
  TensorMap of_stems("f");
  const Preprocessing stems =
      Preprocessing::fit_text(std::vector<std::string>{"red apples"}, {.stem = {"english"}});
  save_preprocessing(of_stems, stems);
  EXPECT_EQ(load_preprocessing(of_stems).terms, stems.terms);
  of_stems.put_text("preprocessing.stem", "klingon");  // of another build of Snowball
  EXPECT_THAT(message_of<std::runtime_error>([&] { load_preprocessing(of_stems); }),
              HasSubstr("preprocessing: words are stemmed by the rules of 'klingon', but this "
                        "build's Snowball library has only "));
  TensorMap plain;
  const Preprocessing words =
      Preprocessing::fit_text(std::vector<std::string>{"a"}, testing::of_words());
  save_preprocessing(plain, words);
  EXPECT_FALSE(plain.has_text("preprocessing.word_ngrams"));
  EXPECT_FALSE(plain.has_text("preprocessing.stem"));
  EXPECT_EQ(load_preprocessing(plain).terms, words.terms);
  EXPECT_TRUE(plain.has_text("preprocessing.word_rule"));
  TensorMap earlier;  // files of earlier versions do not name the rule
  Preprocessing of_letters = words;
  of_letters.terms.word_rule = TextTerms::WordRule::letters;
  save_preprocessing(earlier, of_letters);
  EXPECT_FALSE(earlier.has_text("preprocessing.word_rule"));
  EXPECT_EQ(load_preprocessing(earlier).terms, of_letters.terms);
  EXPECT_FALSE(load_preprocessing(earlier).has_own_terms());
}

TEST(TensorParts, records_that_do_not_fit_together_are_refused) {
  RecordFeatures broken = features();
  broken.numeric.pop_back();
  EXPECT_THAT(message_after(broken), HasSubstr("records.means"));
  broken = features();
  broken.selection.label = "l";
  EXPECT_THAT(message_after(broken), HasSubstr("more than one is given"));
  broken = features();
  broken.categorical[0] = {"red", "blue"};
  EXPECT_THAT(message_after(broken), HasSubstr("do not ascend"));
  broken = features();
  broken.text.idf.pop_back();
  EXPECT_THAT(message_after(broken), HasSubstr("words"));
}

}  // namespace
}  // namespace margrove
