// Has a server that would listen for every machine listen for this one only.
import { Server } from 'node:net';

const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...further) {
    return listen.call(this, Number(port), '127.0.0.1', ...further);
};
