package task

// Diagnosis returns the likely cause of an error and how to fix it, for a person.
func Diagnosis(code Code) (cause, fix string) {
	if d, ok := diagnoses[code]; ok {
		return d.cause, d.fix
	}
	return "An unexpected error occurred.", "See the error and the worker's log; replay after the cause is fixed."
}

var diagnoses = map[Code]struct{ cause, fix string }{
	Invalid:             {"The input of the task is invalid; the error names the field.", "Correct the field and replay with the change in overrides.input."},
	RowInvalid:          {"Rows of the file are invalid: they are empty, malformed, or lack a column of the template.", "Correct the rows listed in errors.jsonl, upload the file again and start a new task; a replay uses the same file."},
	DocumentEmpty:       {"Documents are empty.", "Check how the documents were exported or uploaded, and replay with correct documents."},
	NoText:              {"Documents are scans: they contain pictures of pages and no text.", "Run OCR on the documents and replay with the result."},
	GarbledText:         {"The fonts of documents do not map to characters.", "Export the documents again or run OCR on them, and replay with the result."},
	PasswordRequired:    {"Documents are encrypted, and the password is missing or wrong.", "Replay with the password in the document's entry of overrides.input."},
	DocumentBroken:      {"Documents are damaged, or their content does not match their name.", "Open a document to check it; replay with undamaged documents."},
	DocumentUnsupported: {"Documents have an unsupported format.", "Convert the documents, for instance to PDF or text, and replay with the result."},
	DocumentTooLarge:    {"Documents exceed the size limit named in the error.", "Split the documents, or raise the limit in the configuration, and replay."},
	DocumentTooComplex:  {"Reading the documents exceeded the limit of time or memory.", "Convert the documents to a simpler format, such as plain text, and replay."},
	FetchBlocked:        {"Addresses are in a private network, which is blocked.", "Upload the files instead, or allow private addresses in the configuration, and replay."},
	FetchFailed:         {"The servers did not return the documents.", "Check the addresses; replay when they are available."},
	NotFound:            {"An object named in the input no longer exists, such as an uploaded file.", "Upload the file again and replay with its new id."},

	ModelAuth:        {"The provider refuses the configured API key.", "Configure a valid key and restart the workers; then replay."},
	ModelQuota:       {"The account at the provider has no credit or quota left.", "Top up the account, or configure a fallback model; then replay."},
	ModelUnknown:     {"The model does not exist at the provider, or the account has no access to it.", "Replay with another model in overrides.model."},
	ModelRefused:     {"The provider rejects the request, often because of a parameter or a length that the model does not support.", "Read the provider's message; replay with another model or other instructions."},
	ContentFiltered:  {"The provider refuses the content under its policy.", "Change the items or the instructions, or replay with another model."},
	ContextExceeded:  {"A text exceeds the context length of the model, even in parts.", "Replay with a model with a longer context."},
	RateLimited:      {"The provider's rate limit required a longer wait than a task allows.", "Lower the limits in the configuration, or raise the limits at the provider; then replay."},
	ModelUnavailable: {"The provider was unavailable for longer than a task waits.", "Replay when the provider is available again: existing answers are not paid again."},
	AnswerIncomplete: {"The model stopped before the answer was complete.", "Ask for less, or replay with a model with a higher output limit."},
	BadResponse:      {"The provider repeatedly returned invalid responses.", "Check the address and the profile of the provider, or replay with another model."},

	SubmissionUnknown: {"The provider may or may not have accepted the job; it was not submitted again.", "Look for the job in the provider's account. A replay queries the provider again and submits nothing; if the job does not exist, start a new task with the prompt."},
	RenderFailed:      {"The provider accepted the job and failed to render it.", "Change the prompt, or replay later."},

	DeadlineExceeded: {"The deadline passed before the task was finished.", "Replay to continue where the task stopped, with more time in overrides.deadline."},
	BudgetExceeded:   {"The budget was spent before the task was finished.", "Replay with a higher overrides.budget: paid answers are reused."},
	Terminated:       {"The workflow was terminated in Temporal.", "Find out why; replay to continue where the task stopped."},
	Internal:         {"An internal error occurred.", "See the worker's log; replay after the cause is fixed."},
}
