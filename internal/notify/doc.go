// Package notify sends messages: webhooks after the Standard Webhooks specification, and mails through SMTP.
//
// It makes one attempt and says what came of it. It keeps no list, waits for no second attempt and knows no task: what is
// sent, when it is tried again and what is written down about it is decided above.
package notify
