package task

// Diagnosis says in plain words why something most likely failed, and what mends it.
func Diagnosis(code Code) (cause, fix string) {
	if d, ok := diagnoses[code]; ok {
		return d.cause, d.fix
	}
	return "Something went wrong that was not expected.", "Look at the error and at the worker's log; when it is mended, replay it."
}

var diagnoses = map[Code]struct{ cause, fix string }{
	Invalid:             {"The task cannot be done as it was asked for; the error tells what does not fit.", "Correct that, and replay with the change in overrides.input."},
	RowInvalid:          {"Rows of the file cannot be used: they are empty, broken, or lack a column of the template.", "Correct the rows named in errors.jsonl, upload the file again and start a new task; replay does not change the file."},
	DocumentEmpty:       {"Documents have nothing in them.", "Check how they were exported or uploaded, and replay with the right ones."},
	NoText:              {"Documents are scans: they hold pictures of pages and no text.", "Run them through OCR first, and replay with the result."},
	GarbledText:         {"The fonts of documents do not say what their characters mean.", "Export them anew, or run them through OCR, and replay with the result."},
	PasswordRequired:    {"Documents are encrypted, and no password or a wrong one was given.", "Replay with the password in the document's entry of overrides.input."},
	DocumentBroken:      {"Documents are damaged, or not what their name says.", "Open one of them to see; replay with sound ones."},
	DocumentUnsupported: {"Documents have a format that is not read.", "Convert them, for instance to PDF or text, and replay with the result."},
	DocumentTooLarge:    {"Documents are over a limit of size, which the error names.", "Split them, or raise the limit in the configuration, and replay."},
	DocumentTooComplex:  {"Reading documents took more time or memory than is allowed.", "Convert them into a simpler form, such as plain text, and replay."},
	FetchBlocked:        {"Addresses point into a private network, which is not fetched.", "Upload the files instead, or allow private addresses in the configuration, and replay."},
	FetchFailed:         {"The servers that hold the documents did not give them.", "Check the addresses; when they can be read, replay."},
	NotFound:            {"Something that the input names is not there any more, such as an uploaded file.", "Upload it again and replay with its new id."},

	ModelAuth:        {"The provider refuses our key.", "Put a valid key into the configuration and restart the workers; then replay."},
	ModelQuota:       {"The account at the provider has no money or quota left.", "Top it up, or name a fallback in the configuration; then replay."},
	ModelUnknown:     {"The provider does not know the model, or the account may not use it.", "Replay with another model in overrides.model."},
	ModelRefused:     {"The provider calls the request wrong: often a parameter or a length that the model does not take.", "Read what it said; replay with another model or other instructions."},
	ContentFiltered:  {"The provider refuses the content by its rules.", "Change the items or the instructions, or replay them with another model."},
	ContextExceeded:  {"A text is longer than the model takes, even in parts.", "Replay with a model that takes more."},
	RateLimited:      {"The provider asked to wait for longer than a task waits.", "Lower the limits in the configuration or raise them at the provider; then replay."},
	ModelUnavailable: {"The provider was down or broken for longer than a task waits.", "When it is well again, replay: nothing that was answered is paid again."},
	AnswerIncomplete: {"The model stopped before its answer was complete.", "Ask for less, or replay with a model that may write more."},
	BadResponse:      {"What came from the provider was not an answer to the question, several times.", "Check the address and the profile of the provider, or replay with another model."},

	SubmissionUnknown: {"It is not known whether the provider has the job, and it was not submitted twice.", "Look for it in the provider's account. A replay asks the provider again and submits nothing; if the job is not there, start a new task with the prompt."},
	RenderFailed:      {"The provider took the job and could not render it.", "Change the prompt, or replay it later."},

	DeadlineExceeded: {"The deadline came before the task was done.", "Replay: it goes on where it was. Give it more time in overrides.deadline."},
	BudgetExceeded:   {"The budget was used up before the task was done.", "Replay with more in overrides.budget: what was paid for is reused."},
	Terminated:       {"Somebody ended the workflow in Temporal.", "Ask who and why; replay to go on where it was."},
	Internal:         {"Something failed on our side.", "The worker's log tells more; when it is mended, replay."},
}
