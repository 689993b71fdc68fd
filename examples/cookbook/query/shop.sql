CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, town TEXT NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL REFERENCES customers, day TEXT NOT NULL, cents INTEGER NOT NULL);

INSERT INTO customers VALUES (1, 'Ada', 'London'), (2, 'Blaise', 'Paris'), (3, 'Carl', 'Göttingen');
INSERT INTO orders VALUES
  (1, 1, '2026-01-04', 2490),
  (2, 3, '2026-01-09', 1200),
  (3, 1, '2026-02-11', 750),
  (4, 2, '2026-02-17', 9900);
