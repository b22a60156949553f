//===- SerializeTest.cpp - JSON and SARIF that every reader accepts -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Serialize.h"
#include "Diagnostics/Json.h"
#include "gtest/gtest.h"

#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <random>

using namespace penstock;

namespace {

//===----------------------------------------------------------------------===//
// A strict reader of JSON (RFC 8259), written for these tests only
//===----------------------------------------------------------------------===//

struct Json {
  enum Kind { String, Number, List, Object, Word } kind = Word;
  std::string text; ///< strings decoded, numbers and words as written
  std::vector<Json> list;
  std::map<std::string, Json> object;

  const Json &operator[](const std::string &key) const {
    static const Json none;
    auto found = object.find(key);
    EXPECT_NE(found, object.end()) << "no key " << key;
    return found == object.end() ? none : found->second;
  }
  const Json &operator[](size_t i) const { return list.at(i); }
};

/// Code points of well-formed UTF-8; nothing if it is malformed.
std::optional<std::vector<uint32_t>> decodeUtf8(const std::string &text) {
  std::vector<uint32_t> points;
  for (size_t i = 0; i < text.size();) {
    unsigned char lead = text[i++];
    int more = lead < 0x80             ? 0
               : (lead & 0xE0) == 0xC0 ? 1
               : (lead & 0xF0) == 0xE0 ? 2
               : (lead & 0xF8) == 0xF0 ? 3
                                       : -1;
    if (more < 0)
      return std::nullopt;
    uint32_t point = more == 0 ? lead : lead & (0x3F >> more);
    for (int k = 0; k < more; ++k) {
      if (i >= text.size() || (text[i] & 0xC0) != 0x80)
        return std::nullopt;
      point = point << 6 | (text[i++] & 0x3F);
    }
    static const uint32_t smallest[] = {0, 0x80, 0x800, 0x10000};
    if (point < smallest[more] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
      return std::nullopt;
    points.push_back(point);
  }
  return points;
}

class Reader {
public:
  explicit Reader(const std::string &text) : text(text) {}
  std::optional<Json> read() {
    if (!decodeUtf8(text))
      return std::nullopt;
    Json json = value();
    skip();
    return ok && at == text.size() ? std::optional(json) : std::nullopt;
  }

private:
  char next() const { return at < text.size() ? text[at] : '\0'; }
  void skip() {
    while (at < text.size() && std::string(" \t\r\n").find(text[at]) != std::string::npos)
      ++at;
  }
  bool take(char c) {
    skip();
    if (next() != c)
      return false;
    ++at;
    return true;
  }
  void need(bool condition) { ok = ok && condition; }

  Json value() {
    skip();
    Json json;
    if (!ok)
      return json;
    if (next() == '"') {
      json.kind = Json::String;
      json.text = string();
    } else if (take('[')) {
      json.kind = Json::List;
      if (!take(']')) {
        do
          json.list.push_back(value());
        while (ok && take(','));
        need(take(']'));
      }
    } else if (take('{')) {
      json.kind = Json::Object;
      if (!take('}')) {
        do {
          skip();
          std::string key = string();
          need(take(':'));
          need(json.object.emplace(key, value()).second);
        } while (ok && take(','));
        need(take('}'));
      }
    } else {
      while (std::isalnum(static_cast<unsigned char>(next())) || next() == '-' || next() == '.')
        json.text += text[at++];
      json.kind = Json::Number;
      need(!json.text.empty() && json.text.find_first_not_of("0123456789") == std::string::npos);
    }
    return json;
  }

  std::string string() {
    std::string result;
    need(next() == '"');
    ++at;
    while (ok && next() != '"') {
      need(at < text.size() && static_cast<unsigned char>(next()) >= 0x20);
      if (next() != '\\') {
        result += next();
        ++at;
        continue;
      }
      ++at;
      char escape = next();
      ++at;
      static const std::string plain = "\"\\/", named = "bfnrt", meant = "\b\f\n\r\t";
      if (plain.find(escape) != std::string::npos) {
        result += escape;
      } else if (size_t i = named.find(escape); i != std::string::npos) {
        result += meant[i];
      } else {
        need(escape == 'u' && at + 4 <= text.size());
        uint32_t point = ok ? std::stoul(text.substr(at, 4), nullptr, 16) : 0;
        at += 4;
        if (point < 0x80)
          result += static_cast<char>(point);
        else if (point == 0xFFFD)
          result += "\xEF\xBF\xBD";
        else
          need(false); // the writer needs no others
      }
    }
    ++at;
    return result;
  }

  const std::string &text;
  size_t at = 0;
  bool ok = true;
};

Json parsed(const std::string &text) {
  auto json = Reader(text).read();
  EXPECT_TRUE(json) << text;
  return json ? *json : Json();
}

/// Replaces bytes that are not UTF-8 one by one.
std::string repaired(const std::string &text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    size_t length = 0;
    for (size_t n = 1; n <= 4 && i + n <= text.size(); ++n)
      if (auto points = decodeUtf8(text.substr(i, n)); points && points->size() == 1)
        length = n;
    if (length == 0) {
      result += "\xEF\xBF\xBD";
      ++i;
    } else {
      result += text.substr(i, length);
      i += length;
    }
  }
  return result;
}

Diagnostic full() {
  Diagnostic d;
  d.severity = Severity::Warning;
  d.code = 1203;
  d.location = {"dir \"x\"\\a.cpp", 31, 4};
  d.message = "line one\nline two\t\"quoted\" \\";
  d.label = "label";
  d.notes.push_back({{"b.cpp", 7, 0}, "note", "its label"});
  d.notes.push_back({{}, "no location", ""});
  d.helps = {"first", "second"};
  d.facts = {{"buffer", "Ks"}, {"iteration", "k+2"}};
  return d;
}

//===----------------------------------------------------------------------===//
// Strings
//===----------------------------------------------------------------------===//

TEST(JsonString, EveryByteAlone) {
  for (int byte = 0; byte < 256; ++byte) {
    std::string text(1, static_cast<char>(byte));
    EXPECT_EQ(parsed(jsonString(text)).text, repaired(text)) << byte;
  }
}

TEST(JsonString, EveryPairOfBytes) {
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      std::string text = {static_cast<char>(a), static_cast<char>(b)};
      auto json = Reader(jsonString(text)).read();
      ASSERT_TRUE(json) << a << " " << b;
      ASSERT_EQ(json->text, repaired(text)) << a << " " << b;
    }
}

TEST(JsonString, InvalidUtf8) {
  const char *texts[] = {
      "\xC0\x80",         // zero in two bytes
      "\xE0\x80\x80",     // zero in three
      "\xF0\x80\x80\x80", // zero in four
      "\xED\xA0\x80",     // half of a surrogate pair
      "\xF4\x90\x80\x80", // above U+10FFFF
      "\xF8\x88\x80\x80\x80",
      "\xE2\x82",
      "\xF0\x9F\x98",
      "\x80",
      "a\xFFz",
      "\xE2\x28\xA1",
  };
  for (const char *text : texts)
    EXPECT_EQ(parsed(jsonString(text)).text, repaired(text));
  EXPECT_EQ(parsed(jsonString("\xE2\x82")).text, "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(JsonString, ValidUtf8IsKept) {
  for (std::string text : {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xEF\xBF\xBF",
                           "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF", "\xEE\x80\x80"})
    EXPECT_EQ(jsonString(text), "\"" + text + "\"");
}

TEST(JsonString, RandomBytes) {
  std::mt19937 random(1);
  static const unsigned char interesting[] = {0x00, 0x1F, 0x22, 0x5C, 0x7F, 0x80, 0xBF, 0xC2, 0xE0,
                                              0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0xFF, 0x9F, 0xA0, 0x90};
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (size_t n = random() % 12; n-- > 0;)
      text += static_cast<char>(random() % 3 ? interesting[random() % sizeof interesting]
                                             : random() % 256);
    auto json = Reader(jsonString(text)).read();
    ASSERT_TRUE(json);
    ASSERT_EQ(json->text, repaired(text));
  }
}

//===----------------------------------------------------------------------===//
// Whole documents
//===----------------------------------------------------------------------===//

TEST(JsonLines, OneLineForEachElement) {
  EXPECT_EQ(jsonLines({}), "[]");
  EXPECT_EQ(jsonLines({"1"}), "[\n1\n]");
  EXPECT_EQ(jsonLines({"1", "{\"a\":2}"}), "[\n1,\n{\"a\":2}\n]");
}

TEST(ToJson, AllFields) {
  std::vector<Diagnostic> all = {full(), Diagnostic()};
  Json json = parsed(toJson(all));
  const Json &list = json["diagnostics"];
  ASSERT_EQ(list.list.size(), 2u);
  const Json &d = list[0];
  EXPECT_EQ(d["severity"].text, "warning");
  EXPECT_EQ(d["code"].text, "PS1203");
  EXPECT_EQ(d["message"].text, all[0].message);
  EXPECT_EQ(d["label"].text, "label");
  EXPECT_EQ(d["place"]["file"].text, all[0].location.file);
  EXPECT_EQ(d["place"]["line"].text, "31");
  EXPECT_EQ(d["place"]["column"].text, "4");
  ASSERT_EQ(d["notes"].list.size(), 2u);
  EXPECT_EQ(d["notes"][0]["message"].text, "note");
  EXPECT_EQ(d["notes"][0]["label"].text, "its label");
  EXPECT_EQ(d["notes"][0]["place"]["line"].text, "7");
  EXPECT_EQ(d["notes"][0]["place"].object.count("column"), 0u);
  EXPECT_EQ(d["notes"][1]["place"]["file"].text, "");
  ASSERT_EQ(d["help"].list.size(), 2u);
  EXPECT_EQ(d["help"][1].text, "second");
  EXPECT_EQ(d["facts"]["buffer"].text, "Ks");
  EXPECT_EQ(d["facts"]["iteration"].text, "k+2");
  EXPECT_EQ(list[1]["severity"].text, "error");
}

TEST(ToJson, Nothing) {
  EXPECT_EQ(parsed(toJson({}))["diagnostics"].list.size(), 0u);
  EXPECT_EQ(to_json({}), toJson({}));
}

TEST(ToJson, HostileTextEverywhere) {
  std::string hostile = "\xFF\"}],\\\x01\n\xC3";
  Diagnostic d = full();
  d.location.file = d.message = d.label = hostile;
  d.notes[0] = {{hostile, 1, 1}, hostile, hostile};
  d.helps = {hostile};
  d.facts = {{hostile, hostile}};
  std::vector<Diagnostic> all = {d};
  EXPECT_EQ(parsed(toJson(all))["diagnostics"][0]["message"].text, repaired(hostile));
  EXPECT_EQ(parsed(toSarif(all, hostile))["runs"][0]["tool"]["driver"]["name"].text,
            repaired(hostile));
}

// The parts of SARIF 2.1.0 that the schema requires, and what viewers use.
TEST(ToSarif, AllFields) {
  std::vector<Diagnostic> all = {full(), full(), Diagnostic()};
  all[2].code = 1102;
  all[2].message = "no location";
  Json json = parsed(toSarif(all, "penstock"));
  EXPECT_EQ(json["version"].text, "2.1.0");
  EXPECT_NE(json["$schema"].text.find("sarif"), std::string::npos);
  ASSERT_EQ(json["runs"].list.size(), 1u);
  const Json &run = json["runs"][0];
  const Json &driver = run["tool"]["driver"];
  EXPECT_EQ(driver["name"].text, "penstock");
  ASSERT_EQ(driver["rules"].list.size(), 2u); // one for each code
  std::map<std::string, int> rules;
  for (const Json &rule : driver["rules"].list) {
    ++rules[rule["id"].text];
    EXPECT_FALSE(rule["shortDescription"]["text"].text.empty());
  }
  ASSERT_EQ(run["results"].list.size(), 3u);
  for (const Json &result : run["results"].list) {
    EXPECT_EQ(rules[result["ruleId"].text], 1);
    EXPECT_TRUE(result["level"].text == "warning" || result["level"].text == "error");
  }
  const Json &first = run["results"][0];
  EXPECT_EQ(first["message"]["text"].text, all[0].message + "\nhelp: first\nhelp: second");
  ASSERT_EQ(first["locations"].list.size(), 1u);
  const Json &location = first["locations"][0]["physicalLocation"];
  EXPECT_EQ(location["region"]["startLine"].text, "31");
  EXPECT_EQ(location["region"]["startColumn"].text, "4");
  // Only notes that have a location are listed.
  ASSERT_EQ(first["relatedLocations"].list.size(), 1u);
  EXPECT_EQ(first["relatedLocations"][0]["message"]["text"].text, "note");
  EXPECT_EQ(run["results"][2]["locations"].list.size(), 0u);
}

// artifactLocation.uri must be a URI reference: no blanks, quotes or backslashes.
TEST(ToSarif, FileNamesAreUris) {
  Diagnostic d = full();
  d.location.file = "my kernels/100%/a#b?\xC3\xA9.cpp";
  std::vector<Diagnostic> all = {d};
  Json json = parsed(toSarif(all, "penstock"));
  EXPECT_EQ(
      json["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
          .text,
      "my%20kernels/100%25/a%23b%3F%C3%A9.cpp");
  all[0].location.file = "/abs/x_y-z.~1/a+b.cpp";
  json = parsed(toSarif(all, "penstock"));
  EXPECT_EQ(
      json["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
          .text,
      "/abs/x_y-z.~1/a%2Bb.cpp");
}

} // namespace
