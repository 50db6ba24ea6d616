package app

import (
	"fmt"
	"strings"

	notifyacts "longhaul/activities/notify"
	"longhaul/internal/engine"
	"longhaul/internal/notify"
	"longhaul/internal/storage"
)

// notifyActivities creates the activities that send webhooks and mails.
func (a *App) notifyActivities() (*notifyacts.Activities, error) {
	cfg := a.Config.Notify
	mailer, err := a.mailer()
	if err != nil {
		return nil, fmt.Errorf("mail server: %w", err)
	}
	return &notifyacts.Activities{
		Bucket: a.Bucket, Endpoints: storage.NewEndpoints(a.Bucket), Deliveries: storage.NewDeliveries(a.Bucket),
		Tasks:  engine.New(engine.Parts{Client: a.Temporal.Client, Namespace: a.Temporal.Namespace, Bucket: a.Bucket}),
		Sender: notify.NewSender(cfg.AllowPrivate, cfg.Timeout), Mailer: mailer, Retries: notify.Schedule(cfg.Retries), AlertEvery: cfg.AlertEvery,
		PublicURL: strings.TrimRight(a.Config.API.PublicURL, "/"), Log: a.Log,
	}, nil
}

// mailer creates the client of the mail server; nil if no server is configured.
func (a *App) mailer() (*notify.Mailer, error) {
	cfg := a.Config.SMTP
	if cfg.Host == "" {
		return nil, nil
	}
	return notify.NewMailer(notify.MailServer{
		Host: cfg.Host, Port: cfg.Port, User: cfg.User, Password: cfg.Password.Reveal(), From: cfg.From, TLS: cfg.TLS,
		Timeout: a.Config.Notify.Timeout, AMinute: cfg.PerMinute,
	})
}
