package reactor.rabbitmq;

import com.rabbitmq.client.AMQP;

/** Test double with the constructor that the element type calls, and public fields for the tests. */
public class OutboundMessage {
    public final String exchange;
    public final String routingKey;
    public final AMQP.BasicProperties properties;
    public final byte[] body;

    public OutboundMessage(String exchange, String routingKey, AMQP.BasicProperties properties, byte[] body) {
        this.exchange = exchange;
        this.routingKey = routingKey;
        this.properties = properties;
        this.body = body;
    }
}
