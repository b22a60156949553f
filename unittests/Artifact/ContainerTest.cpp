//===- ContainerTest.cpp - Sections in one checked piece of bytes ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Artifact/Container.h"
#include "Artifact/Checksum.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace penstock;

namespace {

std::string sample() { return writeContainer({{"ONE", "first"}, {"EIGHTLET", ""}, {"B", "x"}}); }

TEST(Container, SectionsComeBack) {
  std::string bytes = sample();
  ContainerError error;
  auto sections = readContainer(bytes, error);
  ASSERT_TRUE(sections) << error.reason;
  ASSERT_EQ(sections->size(), 3u);
  EXPECT_EQ((*sections)[0].name, "ONE");
  EXPECT_EQ((*sections)[0].bytes, "first");
  EXPECT_EQ((*sections)[1].name, "EIGHTLET");
  EXPECT_EQ((*sections)[1].bytes, "");
  EXPECT_EQ((*sections)[2].bytes, "x");
}

TEST(Container, EveryFlippedBitIsFound) {
  std::string bytes = sample();
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string wrong = bytes;
      wrong[i] = char(wrong[i] ^ (1 << bit));
      ContainerError error;
      EXPECT_FALSE(readContainer(wrong, error)) << i;
      EXPECT_FALSE(error.reason.empty());
    }
}

TEST(Container, TruncatedAndExtended) {
  std::string bytes = sample();
  ContainerError error;
  for (size_t i = 0; i < bytes.size(); ++i)
    EXPECT_FALSE(readContainer(std::string_view(bytes).substr(0, i), error)) << i;
  EXPECT_FALSE(readContainer(bytes + "x", error));
}

TEST(Container, LaterFormatsAreToldFromDamage) {
  std::string bytes = sample();
  bytes[8] = 2;
  ContainerError error;
  EXPECT_FALSE(readContainer(bytes, error));
  EXPECT_EQ(error.kind, ContainerError::UnknownFormat);
  EXPECT_EQ(error.reason, "its format is 2, this library reads 1");
}

// The checksum is right, the table is not.
TEST(Container, SectionsOutsideOfTheBytes) {
  std::string bytes = sample();
  bytes[64 + 16] = char(0xff);
  auto content = sha256(std::string_view(bytes).substr(64));
  auto checksum = sha256(bytes.substr(0, 32) + std::string(content.begin(), content.end()));
  memcpy(bytes.data() + 32, checksum.data(), 32);
  ContainerError error;
  EXPECT_FALSE(readContainer(bytes, error));
  EXPECT_EQ(error.reason, "a section lies outside of it");
}

} // namespace
