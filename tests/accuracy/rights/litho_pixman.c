/* summary: pixman images whose pixels belong to others: views keep the plate by a destroy function, alpha maps are counted by the image
 *          they are set in, a solid ink is put before its last use by the press that still has it, proofs are swapped in place
 * track: own
 * build: gcc -O0 -g litho_pixman.c -o OUT $(pkg-config --cflags --libs pixman-1)
 */
#include <pixman.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 64
#define HEIGHT 48
#define COLOURS 4

typedef struct {
    pixman_image_t *plate;
    pixman_image_t *ink;
} station_t;

typedef struct {
    station_t station[COLOURS];
    pixman_image_t *proof;
    int pulls;
} press_t;

static int plates_freed, views_freed;

static void free_pixels(pixman_image_t *image, void *pixels)
{
    (void)image;
    memset(pixels, 0, 4);
    free(pixels);
    plates_freed++;
}

static void free_view(pixman_image_t *view, void *parent)
{
    (void)view;
    pixman_image_unref(parent);
    views_freed++;
}

static pixman_image_t *plate_new(int width, int height, uint32_t fill)
{
    uint32_t *pixels = malloc((size_t)width * height * sizeof *pixels);
    if (!pixels)
        abort();
    for (int i = 0; i < width * height; i++)
        pixels[i] = fill;
    pixman_image_t *plate = pixman_image_create_bits(PIXMAN_a8r8g8b8, width, height, pixels, width * 4);
    pixman_image_set_destroy_function(plate, free_pixels, pixels);
    return plate;
}

/* A part of a plate as an image of its own: same pixels, and a reference to the plate for as long as it lives. */
static pixman_image_t *view_new(pixman_image_t *plate, int x, int y, int width, int height)
{
    int stride = pixman_image_get_stride(plate);
    uint32_t *pixels = pixman_image_get_data(plate) + y * (stride / 4) + x;
    pixman_image_t *view = pixman_image_create_bits(PIXMAN_a8r8g8b8, width, height, pixels, stride);
    pixman_image_set_destroy_function(view, free_view, pixman_image_ref(plate));
    return view;
}

static pixman_image_t *ink_new(uint16_t red, uint16_t green, uint16_t blue)
{
    pixman_color_t colour = { red, green, blue, 0xffff };
    return pixman_image_create_solid_fill(&colour);
}

/* A mask with room for the pressure of the roller; the caller's reference goes when the plate has it. */
static void plate_roll(pixman_image_t *plate, uint8_t pressure)
{
    int width = pixman_image_get_width(plate), height = pixman_image_get_height(plate);
    pixman_image_t *roller = pixman_image_create_bits(PIXMAN_a8, width, height, NULL, 0);
    uint8_t *bytes = (uint8_t *)pixman_image_get_data(roller);
    memset(bytes, pressure, (size_t)pixman_image_get_stride(roller) * height);
    pixman_image_set_alpha_map(plate, roller, 0, 0);
    pixman_image_unref(roller);
}

static uint32_t image_mean(pixman_image_t *image)
{
    uint64_t sum = 0;
    int width = pixman_image_get_width(image), height = pixman_image_get_height(image);
    uint32_t *pixels = pixman_image_get_data(image);
    int stride = pixman_image_get_stride(image) / 4;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            sum += pixels[y * stride + x] & 0xff;
    return (uint32_t)(sum / (uint64_t)(width * height));
}

/* Both references come from the caller. */
static void press_mount(press_t *press, int colour, pixman_image_t *plate, pixman_image_t *ink)
{
    station_t *station = &press->station[colour];
    if (station->plate)
        pixman_image_unref(station->plate);
    if (station->ink)
        pixman_image_unref(station->ink);
    station->plate = plate;
    station->ink = ink;
}

static void press_pull(press_t *press)
{
    for (int c = 0; c < COLOURS; c++) {
        station_t *station = &press->station[c];
        if (station->plate)
            pixman_image_composite32(PIXMAN_OP_OVER, station->ink, station->plate, press->proof, 0, 0, 0, 0, 0, 0,
                                     WIDTH, HEIGHT);
    }
    press->pulls++;
}

/* Enlarged proof: the old one becomes the source of the new one and ends with it. */
static void press_rescale(press_t *press)
{
    pixman_image_t *old = press->proof;
    pixman_transform_t scale;
    pixman_transform_init_scale(&scale, pixman_double_to_fixed(0.5), pixman_double_to_fixed(0.5));
    pixman_image_set_transform(old, &scale);
    press->proof = plate_new(WIDTH * 2, HEIGHT * 2, 0);
    pixman_image_composite32(PIXMAN_OP_SRC, old, NULL, press->proof, 0, 0, 0, 0, 0, 0, WIDTH * 2, HEIGHT * 2);
    if (!pixman_image_unref(old))                   /* true: that was the last one */
        pixman_image_set_transform(old, NULL);      /* somebody has kept it: as it was */
}

static void press_close(press_t *press)
{
    for (int c = 0; c < COLOURS; c++)
        press_mount(press, c, NULL, NULL);
    pixman_image_unref(press->proof);
}

int main(void)
{
    press_t press = { 0 };
    pixman_image_t *kept[4];
    pixman_image_t *stone = plate_new(WIDTH * 2, HEIGHT * 2, 0x80404040);
    pixman_image_t *black = ink_new(0, 0, 0);

    press.proof = plate_new(WIDTH, HEIGHT, 0xffffffff);

    /* Four quarters of the stone; the stone itself is put at once. */
    for (int c = 0; c < COLOURS; c++) {
        pixman_image_t *quarter = view_new(stone, (c & 1) * WIDTH, (c >> 1) * HEIGHT, WIDTH, HEIGHT);
        pixman_image_t *ink = c == 3 ? pixman_image_ref(black) : ink_new(0x4000 * c, 0x8000, 0x2000);
        press_mount(&press, c, quarter, ink);
    }
    pixman_image_unref(stone);
    pixman_image_unref(black);
    press_pull(&press);

    /* A view of a view keeps the view, which keeps the stone. */
    kept[0] = view_new(press.station[0].plate, 8, 8, 16, 16);
    kept[1] = view_new(kept[0], 4, 4, 8, 8);

    /* One roller after the other: setting the second one puts the first. */
    plate_roll(press.station[1].plate, 0xc0);
    plate_roll(press.station[1].plate, 0x60);
    press_pull(&press);

    /* One plate at two stations, then one station less. */
    press_mount(&press, 2, pixman_image_ref(press.station[1].plate), pixman_image_ref(press.station[3].ink));
    press_mount(&press, 1, NULL, NULL);
    press_pull(&press);

    kept[2] = pixman_image_ref(press.proof);
    press_rescale(&press);
    kept[3] = press.proof;
    press.proof = pixman_image_ref(kept[3]);
    press_pull(&press);
    uint32_t before = image_mean(kept[2]), after = image_mean(kept[3]);

    press_close(&press);
    int freed_at_close = plates_freed;
    pixman_image_unref(kept[0]);                    /* lives on: kept[1] has it */
    uint32_t small = image_mean(kept[1]);
    for (int i = 1; i < 4; i++)
        pixman_image_unref(kept[i]);

    printf("%d pulls, %d plates and %d views freed, means %u %u %u\n", press.pulls, plates_freed, views_freed, before, after, small);
    return freed_at_close == 0 && plates_freed == 3 && views_freed == 6 && small == 0x40 ? 0 : 1;
}
