// Package simulated is a model provider without a model: an OpenAI-compatible server whose answers
// are extracts of the text it is given, so that everything around a model can be run and shown on
// one machine without a key. It says that it is simulated: in the header x-longhaul-simulated and
// in the name of its model.
//
// # The shape of a prompt
//
// The system message has the instructions, with a line such as
//
//	Length: at most 300 words.
//
// The user message has the source text between lines of their own:
//
//	<document name="report.pdf">      or      <part n="2" of="5">
//	...                                       ...
//	</document>                               </part>
//
// Only what is between such lines is text; without any, the whole user message is. Of several
// documents or parts, each has its share in the answer. The answer is whole sentences of the text in
// their order and their language, at most as many words as asked for (200 if nothing is said); a
// Chinese, Japanese or Korean character is a word.
//
// A question is asked of sources, or of findings in JSON, each between lines of their own, and the question last:
//
//	<source name="12: report.pdf, page 3">      <finding name="1">      <question name="to answer now">
//
// The answer to it is JSON with fields citations, answer, supported and needs_everything: the sentences that have most
// of the question's words, as they stand in the sources.
//
// Texts to be labelled come between lines of their own, and the labels in the schema of the answer:
//
//	<text name="1">
//
// Each gets the label whose name, and whose description in the instructions, has most words in common with it; without any, it is "other".
//
// # Tools and forms
//
// Where tools are offered it takes part: it asks for each of them once whose arguments can be made of the
// goal, which is the first message of the user, and of what other tools gave: two at first, then one a
// turn, for six turns at most. Then it writes a short report of what they gave. Where a JSON Schema is
// given for the answer, the answer is JSON of it, with words of the goal and samples in its fields.
//
// It invents nothing but such samples, remembers nothing, calls nobody, and is never used when a provider is configured.
package simulated
