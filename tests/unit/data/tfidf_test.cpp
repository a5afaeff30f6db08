#include "margrove/tfidf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "data/words.hpp"
#include "files.hpp"
#include "margrove/svmlight_reader.hpp"
#include "word_terms.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using ::testing::FloatEq;
using testing::message_of;
using testing::of_words;

std::vector<std::string> words(std::string_view text,
                               TextTerms::WordRule rule = TextTerms::WordRule::scripts) {
  std::vector<std::string> found;
  WorkMeter meter;
  for_each_word(text, rule, meter, [&](std::string_view word, bool) { found.emplace_back(word); });
  return found;
}

TEST(Words, are_runs_of_letters_digits_and_underscores) {
  EXPECT_THAT(words("The cat_1's  3.5 hats!"), ElementsAre("the", "cat_1", "s", "3", "5", "hats"));
  EXPECT_THAT(words(""), ElementsAre());
  EXPECT_THAT(words(" ... "), ElementsAre());
}

TEST(Words, know_the_letters_of_other_scripts) {
  EXPECT_THAT(words("ÉTÉ, Straße ΑΒΓ"), ElementsAre("été", "straße", "αβγ"));
  EXPECT_THAT(words("ЖИЗНЬ—жизнь"), ElementsAre("жизнь", "жизнь"));
  EXPECT_THAT(words("日本語。ひらがな", TextTerms::WordRule::marks),
              ElementsAre("日本語", "ひらがな"));
  EXPECT_THAT(words("שלום עולם ٣٤"), ElementsAre("שלום", "עולם", "٣٤"));
  EXPECT_THAT(words("a\u00A0b\u2003c½²"), ElementsAre("a", "b", "c½²"));
  EXPECT_THAT(words("Ǆ Ა 𐐀 Ā"), ElementsAre("ǆ", "ა", "𐐨", "ā"));
}

TEST(Words, keep_their_marks) {
  EXPECT_THAT(words("यह हिन्दी का वाक्य है।"), ElementsAre("यह", "हिन्दी", "का", "वाक्य", "है"));
  EXPECT_THAT(words("தமிழ் மொழி"), ElementsAre("தமிழ்", "மொழி"));
  EXPECT_THAT(words("שָׁלוֹם עוֹלָם"), ElementsAre("שָׁלוֹם", "עוֹלָם"));
  EXPECT_THAT(words("สวัสดีครับ ไทย"), ElementsAre("สวัสดีครับ", "ไทย"));
  EXPECT_THAT(words("\u0301 a <\u0338 b\u0301"), ElementsAre("a", "b\u0301"));  // nothing before it
}

TEST(Words, are_in_the_normal_form) {
  EXPECT_THAT(words("E\u0301te\u0301 A\u030A \u212B"), ElementsAre("été", "å", "å"));
  EXPECT_THAT(words("J\u030C"), ElementsAre("\u01F0"));         // composed after lower case
  EXPECT_THAT(words("I\u0307 \u0130"), ElementsAre("i", "i"));  // one first letter of both
  EXPECT_THAT(words("a\u0323\u0302 a\u0302\u0323"), ElementsAre("\u1EAD", "\u1EAD"));
  EXPECT_THAT(words("\u1112\u1161\u11AB \u1112\u1161 한"), ElementsAre("한", "하", "한"));
  EXPECT_THAT(words("\u0958"), ElementsAre("क\u093C"));             // excluded from composition
  EXPECT_THAT(words("ＡＢ ｱ ア"), ElementsAre("ａｂ", "ｱ", "ア"));  // width forms stay
}

TEST(Words, keep_joiners_inside_and_drop_what_is_not_spoken) {
  EXPECT_THAT(words("می\u200Cخواهم"), ElementsAre("می\u200Cخواهم"));
  EXPECT_THAT(words("\u200Dа\u200C\u200D б\u200D"), ElementsAre("а", "б"));
  EXPECT_THAT(words("ko\u00ADope\u00ADra\u00ADtion \u00AD"), ElementsAre("kooperation"));
  EXPECT_THAT(words("كتـــاب ـ كتاب"), ElementsAre("كتاب", "كتاب"));
  EXPECT_THAT(words("葛\uFE00 1\uFE0F\u20E3 a\u034F\u0301"), ElementsAre("葛", "1", "á"));
  EXPECT_THAT(words("ไทย\u200Bแลนด์"), ElementsAre("ไทย", "แลนด์"));
  EXPECT_THAT(words("a\u0301\xFF\u0301"
                    "b"),
              ElementsAre("á", "b"));
}

TEST(Words, of_scripts_without_blanks_are_cut_as_UAX_29_says) {
  EXPECT_THAT(words("日本語。ひら"), ElementsAre("日", "本", "語", "ひ", "ら"));
  EXPECT_THAT(words("Tシャツとコーヒー2杯a"),
              ElementsAre("t", "シャツ", "と", "コーヒー", "2", "杯", "a"));
  EXPECT_THAT(words("ab人々〇㐂"), ElementsAre("ab", "人", "々", "〇", "㐂"));
  EXPECT_THAT(words("か\u3099き"), ElementsAre("が", "き"));  // the mark belongs to the letter
  EXPECT_THAT(words("葛\U000E0101飾"), ElementsAre("葛", "飾"));
  EXPECT_THAT(words("한국어 𠀀𗀀"), ElementsAre("한국어", "𠀀", "𗀀"));
}

/// The words of a text once it is in its form.
std::vector<std::string> words_in(TextTerms::NormalForm form, TextTerms::Casing casing,
                                  std::string_view text) {
  TextTerms terms;
  terms.normal_form = form;
  terms.casing = casing;
  WorkMeter meter;
  return words(in_form(text, terms, meter));
}

TEST(Words, may_be_in_the_compatible_normal_form) {
  const auto of = [](std::string_view text) {
    return words_in(TextTerms::NormalForm::nfkc, TextTerms::Casing::lower, text);
  };
  EXPECT_THAT(of("ＡＢ ｱ ① ﬁnd ㎏"), ElementsAre("ab", "ア", "1", "find", "kg"));
  EXPECT_THAT(of("½ x²"), ElementsAre("1", "2", "x2"));  // a fraction slash is no letter
  EXPECT_THAT(of("ｶﾞ \u1112\u1161\u11AB"), ElementsAre("ガ", "한"));
  EXPECT_THAT(of("a\xFF"
                 "b\tE\u0301"),
              ElementsAre("a", "b", "é"));
  EXPECT_THAT(of("\uFDFA"), ElementsAre("صلى", "الله", "عليه", "وسلم"));  // the longest
}

TEST(Words, may_be_in_another_casing) {
  const auto folded = [](std::string_view text) {
    return words_in(TextTerms::NormalForm::nfc, TextTerms::Casing::fold, text);
  };
  EXPECT_THAT(folded("STRASSE Straße ﬁn"), ElementsAre("strasse", "strasse", "fin"));
  EXPECT_THAT(folded("ΣΊΣΥΦΟΣ σίσυφος"), ElementsAre("σίσυφοσ", "σίσυφοσ"));
  const auto turkish = [](std::string_view text) {
    return words_in(TextTerms::NormalForm::nfc, TextTerms::Casing::turkish, text);
  };
  EXPECT_THAT(turkish("ISPARTA İzmir I\u0307zmir ıi"),
              ElementsAre("ısparta", "izmir", "izmir", "ıi"));
}

TEST(TextTfidf, brings_stop_words_and_texts_into_one_form) {
  const std::vector<std::string> documents{"Daß GROSSE", "große dass"};
  const Preprocessing fitted = Preprocessing::fit_text(
      documents, of_words({.casing = TextTerms::Casing::fold, .stop_words = {"daß"}}));
  EXPECT_THAT(fitted.vocabulary, ElementsAre("grosse"));
}

TEST(Words, of_the_earlier_rule_end_at_marks) {
  constexpr auto kLetters = TextTerms::WordRule::letters;
  EXPECT_THAT(words("हिन्दी", kLetters), ElementsAre("ह", "न", "द"));
  EXPECT_THAT(words("e\u0301t ko\u00ADop ـ \u212B", kLetters),
              ElementsAre("e", "t", "ko", "op", "ـ", "å"));
  EXPECT_THAT(words("\u1112\u1161", kLetters), ElementsAre("\u1112\u1161"));
}

TEST(TextTfidf, counts_texts_without_terms) {
  const Preprocessing fitted = Preprocessing::fit_text(std::vector<std::string>{"a", "...", ""});
  EXPECT_EQ(fitted.num_rows_without_terms, 2U);
  EXPECT_EQ(message_of([] {
              Preprocessing::fit_text(std::vector<std::string>{"!!", ":-)"});
            }),
            "tfidf: none of the 2 texts has a term; words are made of letters and digits, "
            "word_ngrams is 1-2, char_ngrams 4 and 0 stop words are left out");
}

TEST(TextTfidf, weighs_words_as_defined) {
  const std::vector<std::string> documents{"b a a", "b c", "b"};
  const Preprocessing fitted = Preprocessing::fit_text(documents, of_words());
  EXPECT_THAT(fitted.vocabulary, ElementsAre("a", "b", "c"));
  const double rare = std::log(4.0 / 2.0) + 1;
  EXPECT_THAT(fitted.idf, ElementsAre(FloatEq(static_cast<float>(rare)), FloatEq(1.0F),
                                      FloatEq(static_cast<float>(rare))));
  const CsrMatrix X = fitted.apply(documents);
  const double a = (1 + std::log(2.0)) * rare;
  const double norm = std::sqrt(a * a + 1);
  EXPECT_THAT(X.row(0).columns, ElementsAre(0U, 1U));
  EXPECT_THAT(X.row(0).values, ElementsAre(FloatEq(static_cast<float>(a / norm)),
                                           FloatEq(static_cast<float>(1 / norm))));
  EXPECT_THAT(X.row(2).values, ElementsAre(1.0F));
}

TEST(TextTfidf, one_document_gets_the_row_that_it_has_among_many) {
  std::vector<std::string> documents;
  for (int i = 0; i < 300; ++i) {
    documents.push_back("w" + std::to_string(i % 97) + " w" + std::to_string(i) + " é" +
                        std::to_string(7 * i));
  }
  const Preprocessing fitted = Preprocessing::fit_text(documents, of_words());
  const CsrMatrix all = fitted.apply(documents);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const CsrMatrix one = fitted.apply(std::vector<std::string>{documents[i] + " unknown"});
    EXPECT_THAT(one.row(0).columns, ::testing::ElementsAreArray(all.row(i).columns));
    EXPECT_THAT(one.row(0).values, ::testing::ElementsAreArray(all.row(i).values));
  }
}

TEST(TextTfidf, unknown_words_are_left_out_and_empty_rows_stay) {
  const std::vector<std::string> documents{"a b", "b"};
  const Preprocessing fitted =
      Preprocessing::fit_text(documents, of_words({.min_document_frequency = 2}));
  EXPECT_THAT(fitted.vocabulary, ElementsAre("b"));
  const CsrMatrix X = fitted.apply(std::vector<std::string>{"a z", "z b B"});
  EXPECT_EQ(X.num_columns(), 1U);
  EXPECT_EQ(X.row(0).size(), 0U);
  EXPECT_THAT(X.row(1).values, ElementsAre(1.0F));
}

TEST(CountTfidf, equals_text_tfidf_on_the_words_counts) {
  const std::vector<std::string> documents{"b a a d", "b c a", "b", "d d d c"};
  for (const bool sublinear : {true, false}) {
    for (const int min_df : {1, 2, 3}) {
      const TfidfOptions options{.min_document_frequency = min_df, .sublinear_tf = sublinear};
      const Preprocessing text = Preprocessing::fit_text(documents, of_words(options));
      CsrMatrix counts(4);
      for (const auto& document : documents) {
        std::vector<float> count(4, 0.0F);
        for (const char c : document) {
          if (c != ' ') ++count[static_cast<std::size_t>(c - 'a')];
        }
        counts.append_row(std::vector<FeatureId>{0, 1, 2, 3}, count);
      }
      const Preprocessing fitted = Preprocessing::fit_counts(counts, options);
      const CsrMatrix by_text = text.apply(documents);
      const CsrMatrix by_count = fitted.apply(counts);
      EXPECT_EQ(by_count.num_columns(), 4U);
      for (std::size_t i = 0; i < documents.size(); ++i) {
        EXPECT_THAT(by_count.row(i).values, ::testing::ElementsAreArray(by_text.row(i).values));
        for (std::size_t k = 0; k < by_text.row(i).size(); ++k) {
          const std::string& word = text.vocabulary[by_text.row(i).columns[k]];
          EXPECT_EQ(by_count.row(i).columns[k], static_cast<FeatureId>(word[0] - 'a'));
        }
      }
    }
  }
}

TEST(CountTfidf, columns_that_training_lacked_are_left_out) {
  CsrMatrix train(2);
  train.append_row(std::vector<FeatureId>{0, 1}, std::vector<float>{1, 3});
  CsrMatrix test(9);
  test.append_row(std::vector<FeatureId>{1, 8}, std::vector<float>{2, 5});
  const CsrMatrix X = Preprocessing::fit_counts(train).apply(test);
  EXPECT_EQ(X.num_columns(), 2U);
  EXPECT_THAT(X.row(0).columns, ElementsAre(1U));
}

TEST(CountTfidf, a_negative_count_throws_with_row_and_column) {
  CsrMatrix counts(3);
  counts.append_row(std::vector<FeatureId>{0, 2}, std::vector<float>{1, -2});
  EXPECT_EQ(message_of([&] { Preprocessing::fit_counts(counts); }),
            "tfidf: count[0, 2] is -2, but must be a number >= 0");
  CsrMatrix good(3);
  good.append_row(std::vector<FeatureId>{0, 2}, std::vector<float>{1, 2});
  const Preprocessing fitted = Preprocessing::fit_counts(good);
  EXPECT_EQ(message_of([&] { fitted.apply(counts); }),
            "tfidf: count[0, 2] is -2, but must be a number >= 0");
}

TEST(Normalize, rows_get_unit_norm_and_zero_rows_stay) {
  CsrMatrix X(3);
  X.append_row(std::vector<FeatureId>{0, 2}, std::vector<float>{3, -4});
  X.append_row({}, {});
  X.append_row(std::vector<FeatureId>{1}, std::vector<float>{0});
  const CsrMatrix scaled = Preprocessing::unit_norm().apply(X);
  EXPECT_THAT(scaled.row(0).values, ElementsAre(0.6F, -0.8F));
  EXPECT_THAT(scaled.row(2).values, ElementsAre(0.0F));
  const CsrMatrix same = Preprocessing().apply(X);
  EXPECT_THAT(same.row(0).values, ElementsAre(3.0F, -4.0F));
}

TEST(Preprocessing, kinds_do_not_mix) {
  EXPECT_EQ(message_of([] { Preprocessing().apply(std::vector<std::string>{"a"}); }),
            "preprocessing: it was not fitted on text");
  const Preprocessing text = Preprocessing::fit_text(std::vector<std::string>{"a"});
  EXPECT_EQ(message_of([&] { text.apply(CsrMatrix(1)); }),
            "preprocessing: it was fitted on text, not on rows of numbers");
}

TEST(Preprocessing, check_names_what_does_not_fit) {
  Preprocessing p = Preprocessing::fit_text(std::vector<std::string>{"a b"}, of_words());
  EXPECT_NO_THROW(p.check());
  std::swap(p.vocabulary[0], p.vocabulary[1]);
  EXPECT_EQ(message_of([&] { p.check(); }),
            "preprocessing: word 1 of the vocabulary is not after the one before it");
  p.vocabulary.pop_back();
  EXPECT_EQ(message_of([&] { p.check(); }), "preprocessing: 1 words, but 2 idf weights");
  p.idf = {-1.0F};
  EXPECT_EQ(message_of([&] { p.check(); }),
            "preprocessing: idf[0] is -1, but must be a number >= 0");
  Preprocessing unit = Preprocessing::unit_norm();
  unit.idf = {1.0F};
  EXPECT_EQ(message_of([&] { unit.check(); }),
            "preprocessing: 1 idf weights, but must have none without tf-idf");
}

/// clinc150's rows were made by scikit-learn's TfidfVectorizer and written with four digits.
TEST(TextTfidf, equals_scikit_learn_on_clinc150) {
  const auto rows = testing::data_file("clinc150/train.svm");
  const auto lines = testing::data_file("clinc150/train.txt");
  const auto vocabulary = testing::data_file("clinc150/vocab.txt");
  const auto test_rows = testing::data_file("clinc150/test.svm");
  const auto test_lines = testing::data_file("clinc150/test.txt");
  if (!rows || !lines || !vocabulary || !test_rows || !test_lines) {
    GTEST_SKIP() << "skipped: no data";
  }
  const auto read_lines = [](const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  };
  const std::vector<std::string> documents = read_lines(*lines);
  const Preprocessing fitted = Preprocessing::fit_text(documents, of_words());
  EXPECT_EQ(fitted.vocabulary, read_lines(*vocabulary));
  const auto expect_equal = [&](const std::string& path, const std::vector<std::string>& texts) {
    const Dataset expected = read_svmlight(path);
    const CsrMatrix X = fitted.apply(texts);
    ASSERT_EQ(X.num_rows(), expected.X.num_rows());
    for (std::size_t i = 0; i < X.num_rows(); ++i) {
      ASSERT_THAT(X.row(i).columns, ::testing::ElementsAreArray(expected.X.row(i).columns)) << i;
      for (std::size_t k = 0; k < X.row(i).size(); ++k) {
        ASSERT_NEAR(X.row(i).values[k], expected.X.row(i).values[k], 5.1e-5) << i;
      }
    }
  };
  expect_equal(*rows, documents);
  expect_equal(*test_rows, read_lines(*test_lines));
}

}  // namespace
}  // namespace margrove
