// Lists of one block are intended.
#![allow(clippy::single_range_in_vec_init)]

use super::find;
use crate::prune::{Lines, SourceType};

/// Checks that lines marked `!` are protected and lines marked `?` are not. The mark is not part of
/// the text.
#[track_caller]
fn check(source: SourceType, marked: &str) {
    let (signs, lines): (Vec<&str>, Vec<&str>) =
        marked.lines().map(|line| line.split_at(1)).unzip();
    let text = lines.join("\n");
    let found = find(&Lines::new(&text), source).lines;
    for ((sign, line), is_protected) in signs.iter().zip(&lines).zip(found) {
        assert_eq!(is_protected, *sign == "!", "{line:?} in {text:?}");
    }
}

#[test]
fn author_markers_protect_lines() {
    for source in SourceType::ALL {
        check(
            source,
            "?x1\n?x2\n!a ⟦NO_PRUNE_BEGIN⟧ b\n!x\n!⟦NO_PRUNE_END⟧\n?x",
        );
        check(source, "?x1\n!⟦NO_PRUNE_END⟧\n?x");
        check(source, "?x1\n!⟦NO_PRUNE_BEGIN⟧\n!x\n!y");
        check(
            source,
            "!⟦NO_PRUNE_BEGIN⟧\n!⟦NO_PRUNE_BEGIN⟧\n!⟦NO_PRUNE_END⟧\n?y\n!⟦NO_PRUNE_END⟧\n?z",
        );
        // The order of the marks on a line counts.
        check(
            source,
            "?x1\n!⟦NO_PRUNE_END⟧ ⟦NO_PRUNE_BEGIN⟧\n!x\n!⟦NO_PRUNE_END⟧\n?y",
        );
        check(source, "?x1\n!⟦NO_PRUNE_BEGIN⟧ x ⟦NO_PRUNE_END⟧\n?y");
        check(source, "?⟦NO_PRUNE_BEGIN\n?x");
    }
}

#[test]
fn imports_of_many_languages_are_protected() {
    check(
        SourceType::Code,
        "?x = 1\n!import os\n!from . import y\n!  from a.b import c\n?from now on\n!use std::fmt;\n\
         !pub(crate) use x;\n!extern crate y;\n!const a = require('a')\n!var a = x, b =  require(\"b\");\n\
         ?const a = required(b)\n!#include <x>\n!import type { A } from 'a';\n!using System;\n?using this is easy",
    );
}

#[test]
fn multi_line_imports_are_protected_whole() {
    check(
        SourceType::Code,
        "?x\n!from a import (\n!    b,\n!    c\n!)\n?d\n!use a::{\n!    b,\n!};\n?e\n!import (\n?f",
    );
}

#[test]
fn definitions_of_many_languages_are_protected() {
    check(
        SourceType::Code,
        "?x = 1\n!def f(a):\n!    async  def f():\n!class A(B):\n!pub(in a::b) const unsafe fn x() {\n!fn x();\n\
         !impl<T> A for B<T> {\n!pub struct A;\n!enum A { B }\n!macro_rules! a {\n!mod tests {\n!export default function () {\n\
         !export abstract class A {\n!func (s *Server) Run() error {\n!type A struct {\n!type A = B;\n?type of the value\n\
         !interface A extends B {\n!namespace A.B {\n!extern \"C\" fn x() {\n?  public static void main(String[] args) throws IOException {\n\
         ?  async run(a, b) {\n?  get x() {\n?  if (a) {\n?  it('works', function () {\n\
         ?  run(a);\n?const f = async (a) => {\n?exports.f = function () {\n?const a = (b + c);",
    );
}

#[test]
fn definitions_with_modifiers_are_protected() {
    check(
        SourceType::Code,
        "?x = 1\n!local function foo()\n!fileprivate func foo() {\n!  mutating func foo() {\n!typedef struct node {\n\
         !template <class T> class Foo {\n!case class P(x: Int)\n!inner class X {\n!readonly struct X {\n!#[test] fn foo() {\n\
         ?#[derive(Debug)]\n?template engines are useful\n?case 5:\n!local x = require(\"y\")\n!@import Foundation;\n?@important",
    );
}

#[test]
fn file_header_is_protected() {
    check(
        SourceType::Code,
        "!#!/bin/sh\n!# -*- coding: utf-8 -*-\n?\n!# What it is for.\n?x=1\n?# no header",
    );
    check(
        SourceType::Code,
        "!\"\"\"What it is for.\n!\n!Made by hand.\n!\"\"\"\n?x\n?y"
            .replace("!\n", "?\n")
            .as_str(),
    );
    check(SourceType::Code, "!'''éé\n!éé'''\n?x");
    check(
        SourceType::Code,
        "!/* a\n! * b\n! * c\n! * d\n! * e\n? * f\n? */",
    );
}

#[test]
fn errors_and_adjacent_lines_are_protected() {
    let calm = "?calm\n".repeat(20);
    check(
        SourceType::Logs,
        &format!("{calm}!before\n!an ERROR\n!behind\n{calm}"),
    );
    check(
        SourceType::Logs,
        &format!(
            "{calm}!before\n!Traceback (most recent call last):\n!  File x\n!    y()\n!KeyboardInterrupt\n{calm}"
        ),
    );
    check(
        SourceType::Logs,
        &format!(
            "{calm}!before\n!java.lang.Exception: x\n!\tat a.b\n!Caused by: y\n!\tat c.d\n!behind\n{calm}"
        ),
    );
    check(
        SourceType::Logs,
        &format!("!error\n!behind\n{calm}!before\n!panic"),
    );
}

#[test]
fn context_of_frequent_errors_is_not_protected() {
    check(
        SourceType::Logs,
        "?a\n!error\n?b\n!error\n?c\n!fatal\n! trace\n?d",
    );
}

#[test]
fn very_long_trace_is_not_fully_protected() {
    let text = format!("Traceback\n{}", "  at x\n".repeat(1000));
    let found = find(&Lines::new(&text), SourceType::Logs).lines;
    assert!(found.iter().filter(|&&is| is).count() < 40);
}

#[test]
fn headings_and_front_matter_are_protected() {
    check(
        SourceType::Docs,
        "!# a\n?b\n?\n!c\n!---\n?d\n!   ### e\n?#f",
    );
    check(SourceType::Docs, "!---\n!a: b\n!---\n?c");
}

#[test]
fn fenced_block_is_one_unit() {
    let lines = "a\n```\nb\n# c\n```\nd\n";
    let found = find(&Lines::new(lines), SourceType::Docs);
    assert_eq!(found.lines, [false; 6]);
    assert_eq!(found.units, [1..5]);
    assert_eq!(found.unit(0), 0..1);
    assert_eq!(found.unit(3), 1..5);
    assert_eq!(found.unit(5), 5..6);
}

#[test]
fn partly_protected_fence_is_protected_whole() {
    check(SourceType::Docs, "?a\n!```\n!b\n!⟦NO_PRUNE_END⟧\n!```\n?c");
}

#[test]
fn empty_text_has_no_protected_lines() {
    for source in SourceType::ALL {
        assert!(find(&Lines::new(""), source).lines.is_empty());
        assert_eq!(find(&Lines::new("\n"), source).lines, [false]);
    }
}
