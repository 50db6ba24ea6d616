// Command trip is a small travel agency for the example of agents: it finds hotels and books them. Bookings are kept in
// memory; the same Idempotency-Key books once.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"
)

type hotel struct {
	ID    string  `json:"id"`
	Name  string  `json:"name"`
	City  string  `json:"city"`
	Night float64 `json:"price_a_night"`
	Note  string  `json:"note"`
}

var hotels = []hotel{
	{"h1", "Harbour House", "Lisbon", 96, "Rooms over the water, ten minutes from the old town by tram."},
	{"h2", "Hotel do Monte", "Lisbon", 71, "Quiet street on the hill, breakfast on the terrace."},
	{"h3", "Station Rooms", "Porto", 58, "Next to the trains, small and clean."},
}

// agency is what has been booked, by idempotency key.
type agency struct {
	mu     sync.Mutex
	booked map[string]booking
}

type booking struct {
	Number string `json:"booking"`
	Hotel  string `json:"hotel"`
	From   string `json:"from"`
	Nights int    `json:"nights"`
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8090", "address and port")
	flag.Parse()
	a := &agency{booked: map[string]booking{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hotels", func(w http.ResponseWriter, r *http.Request) { answer(w, http.StatusOK, find(r.FormValue("city"))) })
	mux.HandleFunc("POST /bookings", a.book)
	mux.HandleFunc("GET /bookings", a.list)
	server := &http.Server{Addr: *listen, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	slog.Info("the travel agency listens", "address", *listen)
	if err := server.ListenAndServe(); err != nil {
		slog.Error("the travel agency is closed", "error", err)
		os.Exit(1)
	}
}

func find(city string) []hotel {
	found := []hotel{}
	for _, h := range hotels {
		if city == "" || h.City == city {
			found = append(found, h)
		}
	}
	return found
}

func (a *agency) book(w http.ResponseWriter, r *http.Request) {
	var want booking
	if err := json.NewDecoder(r.Body).Decode(&want); err != nil || want.Hotel == "" || want.Nights < 1 {
		answer(w, http.StatusBadRequest, map[string]string{"error": "a booking needs hotel, from and nights"})
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	made, before := a.booked[key]
	if !before {
		made = want
		made.Number = fmt.Sprintf("B%03d", len(a.booked)+1)
		a.booked[key] = made
		slog.Info("booked", "booking", made.Number, "hotel", made.Hotel, "nights", made.Nights, "from", made.From)
	}
	answer(w, http.StatusCreated, made)
}

func (a *agency) list(w http.ResponseWriter, _ *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := []booking{}
	for _, b := range a.booked {
		all = append(all, b)
	}
	answer(w, http.StatusOK, all)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone
}
